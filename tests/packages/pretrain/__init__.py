"""Training of a language model in pipeline stages; the layers of a stage run as graphs for each microbatch."""
