"""The commands, one module each. They alone print and exit; what they need is imported when they run."""
