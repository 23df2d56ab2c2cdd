"""The catalogue of hazards: one module per rule, its page beside it under the same name.

A rule sees events and findings only; it never knows how the program was read or analysed.
"""
