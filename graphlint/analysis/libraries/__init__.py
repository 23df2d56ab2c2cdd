"""Models of what lives outside the project: builtins, the standard library, torch and its relatives."""
