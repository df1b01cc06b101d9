"""Reports of recordings, which the `syncedmem` command makes."""

from __future__ import annotations

import html
import json
import os
import shutil
import subprocess
import warnings
from pathlib import Path as File
from typing import Any, Union

Path = Union[str, "os.PathLike[str]"]


class Report:
    """Which objects held memory in a recording (`syncedmem run --trace`, `syncedmem.trace`), what a batch costs, what sharing would save.

    `str(report)` is the text of `syncedmem report --text`, which a notebook shows too.
    """

    __slots__ = ("data", "path", "text")

    path: str
    """The recording."""
    text: str
    """The report as text."""
    data: dict[str, Any]
    """The figures in bytes and nanoseconds; docs/report.md describes them."""

    def __init__(self, path: Path) -> None:
        """Reads a recording. Raises `ValueError` with the command's sentence for any other file."""
        self.path = os.fspath(path)
        # A name that begins with "-" must not become an option.
        self.text, data = (run("report", form, "--output", "-", "--", self.path) for form in ("--text", "--json"))
        self.data = json.loads(data)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Report {self.path!r}: {len(self.data['processes'])} processes>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def run(*arguments: str) -> str:
    """The output of the `syncedmem` command. Raises `ValueError` with its error if it fails; its other messages are warnings."""
    own = File(__file__).with_name("syncedmem")
    command = str(own) if own.is_file() else shutil.which("syncedmem")
    if command is None:
        raise FileNotFoundError("the syncedmem command is neither in this package nor in PATH; install a package that has it")
    done = subprocess.run([command, *arguments], capture_output=True, encoding="utf-8", errors="replace", stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip().removeprefix("syncedmem: "))
    for line in done.stderr.splitlines():
        warnings.warn(line.removeprefix("syncedmem: "), stacklevel=4)
    return done.stdout
