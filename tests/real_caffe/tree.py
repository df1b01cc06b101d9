"""The Caffe that scripts/real-caffe found, and how its programs are run and measured."""

import os
import signal
import subprocess
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional


class Missing(Exception):
    """A part of Caffe that a check needs and that this Caffe does not have."""


@dataclass(frozen=True)
class Finished:
    """A program's exit status, output and resources."""

    status: int  # as subprocess says it: negative for the signal that ended it
    out: str
    err: str
    seconds: float  # of the processor, not of the clock: other programs then count little
    peak_bytes: int
    calls: dict[str, int] = field(default_factory=dict)  # what SYNCEDMEM_REPORT says of calls, if asked

    def report(self) -> str:
        """The command's output after Caffe's."""
        _, begin, text = self.err.partition("libsyncedmem: memory of caffe")
        assert begin, f"there is no report: {self.err[-600:]}"
        return text

    def ending(self) -> str:
        """How it ended, with its last words, for a sentence about a failure."""
        how = f"ended with status {self.status}"
        if self.status < 0:
            how = f"was ended by {signal.Signals(-self.status).name}"
        words = [line for line in (self.out + self.err).splitlines() if line.strip()]
        return how + (": " + " | ".join(words[-3:])[-600:] if words else ", without a word")


def read_calls(report: Path) -> dict[str, int]:
    """The counters of the one line about calls in a report; those that it does not name are 0."""
    lines = report.read_text().splitlines() if report.exists() else []
    lines = [line for line in lines if line.startswith("calls of Caffe")]
    if len(lines) != 1:
        raise AssertionError(f"the program left {len(lines)} reports of the library's calls, not one")
    pairs = (word.split("=", 1) for word in lines[0].split() if "=" in word)
    return Counter({name: int(value) for name, value in pairs})


HERE = Path(__file__).resolve().parent


class Caffe:
    """Paths of the parts, by the names that `scripts/real-caffe --print` gives them."""

    def __init__(self) -> None:
        if "real_caffe_program" not in os.environ:
            raise SystemExit("run this through scripts/real-caffe or scripts/demo")

    def part(self, name: str) -> str:
        """The path of a part; Missing if this Caffe does not have it."""
        path = os.environ.get(f"real_caffe_{name}", "")
        if not path:
            raise Missing(f"this Caffe has no {name}; scripts/real-caffe --help says where it is looked for")
        return path

    def environment(self, folder: Path, library_path: str = "") -> dict[str, str]:
        """What a program of this Caffe runs in: without the caller's SYNCEDMEM_* settings, and with arithmetic on one thread, so
        that a result depends on nothing but its input. `library_path` goes before Caffe's own."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("SYNCEDMEM_", "LD_"))}
        environment.update(
            LD_LIBRARY_PATH=":".join(filter(None, (library_path, self.part("library_path")))),
            PYTHONPATH=os.environ["real_caffe_python_path"],
            PYTHONDONTWRITEBYTECODE="1",
            MPLCONFIGDIR=str(folder / "matplotlib"),
            GLOG_logtostderr="1",
            OPENBLAS_NUM_THREADS="1",
            OMP_NUM_THREADS="1",
        )
        if os.environ["real_caffe_python"]:
            environment["PYTHONHOME"] = os.environ["real_caffe_python_home"]
        return environment

    def run(
        self,
        arguments: list[str],
        folder: Path,
        preload: Optional[Path] = None,
        settings: Optional[dict[str, str]] = None,
        count_calls: bool = False,
        library_path: str = "",
    ) -> Finished:
        """Runs a program of this Caffe in `folder`, the library preloaded if one is given."""
        environment = self.environment(folder, library_path)
        environment.update(settings or {})
        with tempfile.TemporaryDirectory() as scratch:
            report = Path(scratch, "report")
            environment["TMPDIR"] = scratch  # Caffe's tests leave hundreds of folders there
            if preload:
                environment["LD_PRELOAD"] = str(preload)
            if count_calls:
                environment.update(SYNCEDMEM_REPORT=str(report), SYNCEDMEM_ACCOUNT="on")
            with open(Path(scratch, "out"), "w+b") as out, open(Path(scratch, "err"), "w+b") as err:
                process = subprocess.Popen(
                    arguments, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err
                )
                # wait4, because it returns the resources that this one child used.
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                out.seek(0)
                err.seek(0)
                return Finished(
                    process.returncode,
                    out.read().decode(errors="replace"),
                    err.read().decode(errors="replace"),
                    usage.ru_utime + usage.ru_stime,
                    usage.ru_maxrss * 1024,
                    read_calls(report) if count_calls and process.returncode == 0 else {},
                )

    def python(self, folder: Path, program: str, *arguments: str, **how: Any) -> Finished:
        """Runs one of the programs here in pycaffe's Python, as `run` does."""
        return self.run([self.part("python"), str(HERE / program), *arguments], folder, **how)
