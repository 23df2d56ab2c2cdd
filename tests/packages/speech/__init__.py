"""Streaming speech: a recogniser and a synthesiser whose steps run as graphs, one for each bucket."""
