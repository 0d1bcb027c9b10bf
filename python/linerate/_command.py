"""Where the command ``linerate`` is."""

import os
import shutil
import sys
import sysconfig
from typing import Optional

NAME = "linerate"


def program(given: Optional[str] = None) -> str:
    """Path of the command: ``given``, else the variable ``LINERATE``, else the file that was
    installed with this package, else what ``PATH`` has.

    Raises ``FileNotFoundError`` if there is none.
    """
    asked = given or os.environ.get("LINERATE")
    if asked:
        return asked
    for folder in _folders():
        path = os.path.join(folder, NAME)
        if os.access(path, os.X_OK):
            return path
    found = shutil.which(NAME)
    if found is None:
        raise FileNotFoundError(
            "the command linerate is not installed: pip install --force-reinstall linerate"
        )
    return found


def _folders() -> list[str]:
    """Where pip puts commands: of this environment, of this user, beside the package
    (``pip install --target``)."""
    package = os.path.dirname(os.path.abspath(__file__))
    user = sysconfig.get_path("scripts", scheme=f"{os.name}_user")
    beside = os.path.join(os.path.dirname(package), "bin")
    return [sysconfig.get_path("scripts"), user, beside, os.path.dirname(sys.executable)]
