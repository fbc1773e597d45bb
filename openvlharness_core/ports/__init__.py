"""The ports: what the domain asks of the world, each a Protocol that says shapes, units, failures and callers."""
