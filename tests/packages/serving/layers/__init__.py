"""Layers that the models share."""
