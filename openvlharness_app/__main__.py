"""`python -m openvlharness_app` is the command line."""

from openvlharness_app.cli.main import main

if __name__ == "__main__":
    main()
