"""Calls and results as JSON, one module a capability, for the tool router, its clients and the raw servers.

Both directions are strict: what breaks the wire is a `MalformedResultError` naming the field, and never a KeyError. Arrays
travel as ``{"dtype", "shape", "data"}`` or, where they are small, as lists; pictures as data URLs.
"""
