"""The abstract machine: runs the program's own life on abstract values and emits events."""
