"""The samples that measure.cpp prints, row by row."""

import statistics
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, List, Optional, Tuple

# Fewer than so many are all shown by their edges: a tenth of them is nothing.
MANY = 10


@dataclass
class Row:
    """One figure of the library and of a rival: nanoseconds, bytes, a count or a factor, as `unit` says."""

    id: str
    unit: str
    rival: str
    description: str
    of_rival: List[float]
    of_library: List[float]

    @property
    def ratio(self) -> Optional[float]:
        median = statistics.median(self.of_rival)
        return statistics.median(self.of_library) / median if median else None

    def spread(self, samples: List[float]) -> Tuple[float, float]:
        """The 10th and 90th percentile of many times; the least and the most of anything else."""
        if self.unit == "ns" and len(samples) >= MANY:
            tenths = statistics.quantiles(samples, n=10, method="inclusive")
            return tenths[0], tenths[-1]
        return min(samples), max(samples)


@dataclass
class Samples:
    about: Dict[str, str]
    rows: List[Row]


def read_samples(path: str) -> Samples:
    about: Dict[str, str] = {}
    rows: List[Row] = []
    for line in Path(path).read_text().splitlines():
        kind, *fields = line.split("\t")
        if kind == "about":
            about[fields[0]] = fields[1]
        elif kind == "row":
            numbers = [[float(number) for number in field.split()] for field in fields[4:]]
            rows.append(Row(*fields[:4], *numbers))
        else:
            sys.exit(f"report.py: {path}: a line of kind {kind!r}, where 'about' or 'row' was expected")
    if not rows:
        sys.exit(f"report.py: {path}: nothing was measured (does --only name a row that exists?)")
    return Samples(about, rows)


def readable(value: float, unit: str) -> str:
    if unit in ("count", "times"):
        return f"{value:.3g}"
    steps = [("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10), ("B", 1)]
    if unit == "ns":
        steps = [("s", 10**9), ("ms", 10**6), ("us", 10**3), ("ns", 1)]
    # Three digits are shown: what they would round up to 1000 belongs to the next unit.
    name, size = next((step for step in steps if abs(value) >= 0.9995 * step[1]), steps[-1])
    return f"{value / size:.3g} {name}" if unit == "ns" else f"{value / size:.4g} {name}"
