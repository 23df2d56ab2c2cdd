"""`python -m graphlint`."""

from graphlint.cli import main

if __name__ == "__main__":
    main()
