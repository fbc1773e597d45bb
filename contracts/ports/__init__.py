"""One suite a port: subclass it in a test module and supply its fixture."""
