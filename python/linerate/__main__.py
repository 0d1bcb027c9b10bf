"""``python -m linerate`` is the command ``linerate``."""

import os
import sys

from ._command import program

if __name__ == "__main__":
    path = program()
    os.execv(path, [path, *sys.argv[1:]])
