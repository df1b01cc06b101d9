"""Turns the samples that measure.cpp prints into a table with bounds.

usage: report.py ORIGINAL LIBRARY FILE [--check]    exit status 1 with --check if a bound is missed, or nothing was measured
"""

import os
import statistics
import sys
from pathlib import Path
from typing import List

from system import describe_system

# The most that the library may take of the original's figure, by the row's id. Aligned blocks leave gaps in malloc's heap, which also
# grows around idle blocks that are kept for speed: random peaks of 1.19 and 1.34 were measured.
BOUNDS = {
    "cpu_data": 0.50,
    "mutable_cpu_data": 0.50,
    "touch.4": 1.10,
    "touch.256": 1.10,
    "touch.4096": 1.10,
    "touch.65536": 1.10,
    "touch.1048576": 1.10,
    "touch.67108864": 0.25,
    "random.even.peak": 1.35,
    "random.small.peak": 1.35,
}


def readable(value: float, unit: str) -> str:
    steps = [("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1)]
    if unit == "ns":
        steps = [("s", 10**9), ("ms", 10**6), ("us", 1e3), ("ns", 1)]
    # Three digits are shown: a value that would round up to 1000 is shown in the next unit.
    name, size = next((step for step in steps if value >= 0.9995 * step[1]), steps[-1])
    return f"{value / size:.3g} {name}"


def shown(samples: List[float], unit: str) -> str:
    if len(samples) < 10:
        low, high = min(samples), max(samples)
    else:
        tenths = statistics.quantiles(samples, n=10, method="inclusive")
        low, high = tenths[0], tenths[-1]
    return f"{readable(statistics.median(samples), unit)} [{readable(low, unit)} - {readable(high, unit)}]"


def readable_path(path: str) -> str:
    """The path from the source tree, or from the home folder."""
    for folder, name in ((Path(__file__).resolve().parents[1], ""), (Path.home(), "~/")):
        if folder in Path(path).parents:
            return name + str(Path(path).relative_to(folder))
    return path


def main() -> int:
    original, library, file, *options = sys.argv[1:]
    system = describe_system()
    settings = " ".join(f"{name}={value}" for name, value in system["settings"].items())
    print("Caffe's SyncedMemory: the original and this library, the same work in turn (scripts/bench)")
    print(f"  original  {readable_path(original)}")
    print(f"  library   {readable_path(library)}")
    print(f"  machine   {system['processor']}, {os.cpu_count()} processors{', virtual machine' * system['virtual_machine']}")
    print(f"  system    {system['kernel']}, {system['c_library']}, huge pages {system['huge_pages']}")
    print(f"  settings  {settings or 'none in the environment'}")
    print("  figures   processor time: median [10th - 90th percentile, of fewer than 10 samples least - most]; ratio: the library's by the original's\n")
    print(f"{'':<58}{'original':<33}{'library':<33}ratio  bound")
    kept, missed = 0, []
    for line in Path(file).read_text().splitlines():
        name, unit, what, *sides = line.split("\t")
        theirs, ours = ([float(sample) for sample in side.split()] for side in sides)
        ratio = statistics.median(ours) / statistics.median(theirs)
        verdict = ""
        if name in BOUNDS:
            met = ratio <= BOUNDS[name]
            kept += met
            verdict = f"<= {BOUNDS[name]:.2f}: {'kept' if met else 'MISSED'}"
            if not met:
                missed.append(f"missed: {what}: ratio {ratio:.3f}; bound: {BOUNDS[name]:.2f}")
        print(f"{what:<58}{shown(theirs, unit):<33}{shown(ours, unit):<33}{ratio:5.2f}  {verdict}".rstrip())
    print("\n" + "".join(f"{sentence}\n" for sentence in missed) + f"bench: {kept} bounds kept, {len(missed)} missed")
    return 1 if "--check" in options and (missed or kept == 0) else 0


if __name__ == "__main__":
    sys.exit(main())
