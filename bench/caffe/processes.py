"""Runs processes, and reads what they used and computed."""

import hashlib
import os
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List

# A processor time, and a loss that Caffe prints or a line of pycaffe.py.
TIME = re.compile(r"^seconds (\w+) ([\d.]+)")
RESULT = re.compile(r"(?:^result|loss =|Initial loss:) (\S+)")
SAVED = "model_iter_*"


@dataclass
class Run:
    """Processes that ran at once. All figures are sums over them, except the wall time."""

    wall: float = 0.0  # until the last one ended
    user: float = 0.0
    system: float = 0.0
    minor: int = 0
    peak: int = 0
    results: List[str] = field(default_factory=list)
    seconds: Dict[str, float] = field(default_factory=dict)


class Process:
    """A process whose output goes to a file."""

    def __init__(self, command: List[str], folder: Path, environment: Dict[str, str]) -> None:
        self.output = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=self.output, stderr=subprocess.STDOUT
        )

    def add_to(self, run: Run, start: float) -> None:
        """Waits for the end, and adds what this process used. AssertionError if the process failed."""
        # wait4 returns the resources that this one child used.
        _, status, usage = os.wait4(self.process.pid, 0)
        run.wall = max(run.wall, time.monotonic() - start)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        with self.output:
            self.output.seek(0)
            lines = list(self.output)
        last = "".join(lines[-5:])
        assert self.process.returncode == 0, f"{self.process.args} ended with status {self.process.returncode}:\n{last}"
        results = [match[1] for match in map(RESULT.search, lines) if match]
        assert results, f"{self.process.args} printed no result:\n{last}"
        run.user += usage.ru_utime
        run.system += usage.ru_stime
        run.minor += usage.ru_minflt
        run.peak += usage.ru_maxrss * 1024
        run.seconds.update((match[1], float(match[2])) for match in map(TIME.search, lines) if match)
        run.results += results


def measure(commands: List[List[str]], folder: Path, environment: Dict[str, str]) -> Run:
    """Runs the commands at once in `folder`. Models that they save there are hashed into the results, and deleted."""
    run = Run()
    start = time.monotonic()
    for process in [Process(command, folder, environment) for command in commands]:
        process.add_to(run, start)
    for path in sorted(folder.glob(SAVED)):
        run.results.append(hashlib.sha256(path.read_bytes()).hexdigest())
        path.unlink()
    return run
