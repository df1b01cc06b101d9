"""Starts the `syncedmem` command, a program in the package's folder.

This module is outside of the package, whose import loads NumPy and the library: the command must work without them.
"""

import importlib.util
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Executes the command in this process, with its arguments."""
    package = importlib.util.find_spec("syncedmem")
    for folder in (package and package.submodule_search_locations) or []:
        command = os.path.join(folder, "syncedmem")
        if os.path.isfile(command):
            os.execv(command, [command, *sys.argv[1:]])
    sys.exit(
        "syncedmem: this package was built without the command: SYNCEDMEM_LIBRARY named a library, and SYNCEDMEM_COMMAND no command. "
        "Install a released package, or build it with both, or with neither"
    )
