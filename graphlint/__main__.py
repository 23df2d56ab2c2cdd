"""`python -m graphlint`."""

from graphlint.start import main

if __name__ == "__main__":
    main()
