"""A trainer in the manner of large-model trainers: the whole step is one graph."""
