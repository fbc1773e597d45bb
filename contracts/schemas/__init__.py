"""JSON Schemas of what is saved and what is sent. `python -m contracts.schemas` writes those that are made here.

`report.json` is a saved report, `canonical/<tool>.json` the data of one tool in it, `tools/<tool>.json` its arguments.
"""
