"""OpenVLHarness, the adapters: each meets one foreign system behind a port of the domain."""
