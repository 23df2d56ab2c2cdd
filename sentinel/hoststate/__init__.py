"""The program's own Python state: what is reachable from its frames, compared and put back.

A graph keeps what Python decided while it was captured. These modules say what of it has changed since
(`memory`) and undo what a second run of captured code changes (`undoing`); `walk` finds it.
"""
