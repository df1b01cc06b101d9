"""Recordings as reports, which the `syncedmem` command makes."""

from __future__ import annotations

import html
import json
import os
import shutil
import subprocess
from pathlib import Path as File
from typing import Any, Union

Path = Union[str, "os.PathLike[str]"]


class Report:
    """Who held memory in a recording (`syncedmem run --trace`, `syncedmem.trace`), what a batch costs, what sharing would save.

    `str(report)` is the text of `syncedmem report --text`, which a notebook shows too.
    """

    __slots__ = ("data", "path", "text")

    path: str
    """The recording."""
    text: str
    """The report, as the terminal shows it."""
    data: dict[str, Any]
    """The same in bytes and nanoseconds, as docs/report.md describes it."""

    def __init__(self, path: Path) -> None:
        """Reads a recording. Raises `ValueError` with the command's sentence for anything else."""
        self.path = os.fspath(path)
        self.text = _reported(self.path, "--text")
        self.data = json.loads(_reported(self.path, "--json"))

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Report {self.path!r}: {len(self.data['processes'])} processes>"

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def _reported(path: str, form: str) -> str:
    own = File(__file__).with_name("syncedmem")
    command = str(own) if own.is_file() else shutil.which("syncedmem")
    if command is None:
        raise FileNotFoundError("the syncedmem command is neither in this package nor in PATH; install a package that has it")
    # A name that begins with "-" is no option.
    arguments = [command, "report", form, "--output", "-", "--", path]
    told = subprocess.run(arguments, capture_output=True, encoding="utf-8", errors="replace", stdin=subprocess.DEVNULL)
    if told.returncode != 0:
        raise ValueError(told.stderr.strip().removeprefix("syncedmem: "))
    return told.stdout
