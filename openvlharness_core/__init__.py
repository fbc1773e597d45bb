"""OpenVLHarness, the domain: it decides, and performs nothing."""
