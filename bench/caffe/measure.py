"""Runs programs of Caffe's users on Caffe's own SyncedMemory and on the library, in turn, and prints what each run used.

Started by `scripts/bench --caffe`.
"""

import argparse
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Dict, List, Tuple

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE.parents[1] / "tests/real_caffe"), str(HERE.parent)]

from processes import Run, measure  # noqa: E402
from tables import Measured, header, missed, table  # noqa: E402
from tree import Caffe  # noqa: E402
from workloads import HERE as PROGRAMS, Workload, prepare, workloads  # noqa: E402

PAIRS = 6
# Programs that share memory are judged by their peak alone.
PAIRS_SHARING = 2


class Sides:
    """The original and the library, on the same programs in one folder."""

    def __init__(self, caffe: Caffe, library: Path, blas: str, folder: Path) -> None:
        self.folder = folder
        self.original = caffe.environment(folder, blas)
        settings = {name: value for name, value in os.environ.items() if name.startswith("SYNCEDMEM_")}
        self.library = library
        self.settings = settings

    def ours(self, workload: Workload) -> Dict[str, str]:
        environment = {**self.original, **self.settings, "LD_PRELOAD": str(self.library)}
        environment.update(workload.settings)
        if workload.shares:
            names = self.library.with_name("libsyncedmem_net.so")
            assert names.exists(), f"{workload.name}: there is no {names}"
            environment.update(LD_PRELOAD=f"{names}:{self.library}", SYNCEDMEM_SHARE=workload.shares.setting)
        return environment

    def counted(self, workload: Workload) -> Tuple[Run, Run]:
        """One run on each side, with calls counted. AssertionError if a process made no call, or if the results differ."""
        asked = {"SYNCEDMEM_REPORT": str(self.folder / "report-%p")}
        pair = self.run(workload, self.original), self.run(workload, {**self.ours(workload), **asked})
        files = list(self.folder.glob("report-*"))
        reports = [file for file in files if re.search(r" construct=[1-9]", file.read_text())]
        for file in files:
            file.unlink()
        assert len(reports) == len(workload.commands), f"{workload.name}: the library was not called in every process"
        return same(workload, [pair])[0]

    def pairs(self, workload: Workload) -> List[Tuple[Run, Run]]:
        """Original and library, library and original, and so on."""
        found = []
        for number in range(PAIRS_SHARING if workload.shares else PAIRS):
            if number % 2 == 0:
                original = self.run(workload, self.original)
                found.append((original, self.run(workload, self.ours(workload))))
            else:
                ours = self.run(workload, self.ours(workload))
                found.append((self.run(workload, self.original), ours))
        return same(workload, found)

    def run(self, workload: Workload, environment: Dict[str, str]) -> Run:
        return measure(workload.commands, self.folder, environment)


def same(workload: Workload, pairs: List[Tuple[Run, Run]]) -> List[Tuple[Run, Run]]:
    """Returns the pairs if all of their runs computed the same, else raises AssertionError."""
    results = [run.results for pair in pairs for run in pair]
    assert all(result == results[0] for result in results), f"{workload.name}: the results differ: {results}"
    return pairs


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--blas", required=True, help="the folder of OpenBLAS")
    parser.add_argument("--quick", action="store_true", help="small images, one run on each side")
    parser.add_argument("--check", action="store_true", help="exit status 1 if a bound is missed")
    parser.add_argument("--only", default="", help="prefixes of ids, separated by commas")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-caffe-") as name:
        caffe = Caffe()
        sides = Sides(caffe, options.library.resolve(), options.blas, Path(name))
        prepare(sides.folder, options.quick)
        chosen = [one for one in workloads(caffe, options.quick) if one.id.startswith(tuple(options.only.split(",")))]
        assert chosen, f"--only {options.only}: there is no such row"
        for net in filter(None, (one.saved for one in chosen)):
            save = Workload("", "", [[caffe.part("python"), str(PROGRAMS / "pycaffe.py"), "save", net]])
            sides.run(save, sides.original)
        if not options.quick:
            # This untimed run shows that the preload works, and reads the programs from the disk.
            sides.counted(chosen[0])
        measured = []
        for workload in chosen:
            print(f"    {workload.name}", file=sys.stderr, flush=True)
            pairs = [sides.counted(workload)] if options.quick else sides.pairs(workload)
            measured.append(Measured(workload, pairs))
    print(header(options.quick, len(measured[0].pairs)))
    print(table(measured))
    print(f"The results are the same, bit for bit, in {len(measured)} of {len(measured)} programs.")
    if not options.check:
        return 0
    sentences = missed(measured, options.quick)
    bounds = 2 * len(measured) + sum(len(one.shares.times) for one in chosen if one.shares)
    print("\n".join(sentences + [f"bench --caffe: {bounds - len(sentences)} bounds kept, {len(sentences)} missed"]))
    return 1 if sentences else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AssertionError as reason:
        sys.exit(f"bench --caffe: {reason}")
