"""Model classes, found by name."""
