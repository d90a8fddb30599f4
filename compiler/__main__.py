"""`python -m compiler`."""

import sys

from compiler.cli import main

if __name__ == "__main__":
    sys.exit(main())
