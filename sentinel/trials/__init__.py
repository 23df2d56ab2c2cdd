"""The program's own code run once more and undone, and what two runs left compared.

The shadow and the checks of wrapped runners use it.
"""
