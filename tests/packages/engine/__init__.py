"""A small inference engine: a worker owns a runner, the runner owns one graph per batch size."""
