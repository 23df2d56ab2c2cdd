"""Records what is declared."""

from engine.model import Decoder


def main(x):
    return Decoder()(x)
