"""One public tool a module: schema, arguments, canonical data, evidence."""
