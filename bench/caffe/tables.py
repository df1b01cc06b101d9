"""The figures as Markdown, and the bounds."""

import os
import statistics
from dataclasses import dataclass
from typing import Callable, List, Tuple

from processes import Run
from system import describe_system
from workloads import Workload

# The most that the library may use of the original's figure. Faults and memory are counted and not timed, so a busy machine does not
# change them.
MOST_FAULTS = 1.05
# The detector's blobs grow again and again, to sizes that no kept block fits. The library then maps new pages, and the original's heap
# grows by the difference. 1.26 was measured.
MOST_FAULTS_GROWING = 1.35
MOST_MEMORY = 1.10
# The most processor time while all events are recorded.
MOST_TIME_TRACED = 1.05
# The widest spread of ratios at which the two sides count as equal.
NARROW = 0.2
# The kernel counts system time in ticks, mostly of 4 ms: a shorter time has too few ticks to compare.
LEAST_SYSTEM_TIME = 0.1


def seconds(value: float) -> str:
    return f"{value:.3f} s" if value < 1 else f"{value:.2f} s"


def count(value: float) -> str:
    return f"{value:,.0f}"


def mebibytes(value: float) -> str:
    return f"{value / 2**20:,.0f} MiB"


@dataclass(frozen=True)
class Measure:
    name: str
    of: Callable[[Run], float]
    shown: Callable[[float], str]


WALL = Measure("wall time", lambda run: run.wall, seconds)
SYSTEM = Measure("system time", lambda run: run.system, seconds)
MINOR = Measure("minor page faults", lambda run: run.minor, count)
PROCESSOR = Measure("processor time", lambda run: run.user + run.system, seconds)
PEAK = Measure("peak memory", lambda run: run.peak, mebibytes)
MEASURES = (WALL, SYSTEM, MINOR, PEAK)


def pass_time(name: str) -> Measure:
    return Measure(f"processor time of the {name} pass", lambda run: run.seconds[name], seconds)


@dataclass(frozen=True)
class Measured:
    workload: Workload
    pairs: List[Tuple[Run, Run]]  # the original's, the library's

    def side(self, measure: Measure, side: int) -> List[float]:
        return [measure.of(pair[side]) for pair in self.pairs]

    def ratios(self, measure: Measure) -> List[float]:
        """The library's figure as a share of the original's, pair by pair."""
        return [ours / original for original, ours in zip(self.side(measure, 0), self.side(measure, 1))]

    def verdict(self, measure: Measure) -> str:
        """How the sides differ, if this run can tell."""
        if measure is SYSTEM and all(statistics.median(self.side(SYSTEM, side)) < LEAST_SYSTEM_TIME for side in (0, 1)):
            return f"below {LEAST_SYSTEM_TIME:g} s"
        ratios = self.ratios(measure)
        low, high = round(min(ratios), 2), round(max(ratios), 2)
        if not low <= 1 <= high:
            return ratio(statistics.median(ratios))
        return "no difference" if round(high - low, 2) <= NARROW else f"{ratio(low)} to {ratio(high)}"


def ratio(value: float) -> str:
    return f"{value:.2f}"


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def table(measured: List[Measured]) -> str:
    """How the sides differ, and the figures of both."""

    def cell(one: Measured, measure: Measure) -> str:
        original, library = (measure.shown(statistics.median(one.side(measure, side))) for side in (0, 1))
        return f"{one.verdict(measure)} ({original if original == library else f'{original}, {library}'})"

    lines = [row("Program", *(measure.name for measure in MEASURES)), row(*["---"] * (1 + len(MEASURES)))]
    lines += [row(one.workload.name, *(cell(one, measure) for measure in MEASURES)) for one in measured]
    passes = ((one, pass_time(name)) for one in measured for name in (one.workload.shares.times if one.workload.shares else ()))
    lines += [f"\n{one.workload.name}, {measure.name}: {cell(one, measure)}" for one, measure in passes]
    return "\n".join(lines) + "\n"


def header(quick: bool, pairs: int) -> str:
    system = describe_system()
    memory = system["memory_bytes"]
    gib = f"{memory / 2**30:.1f} GiB" if isinstance(memory, int) else "memory unknown"
    settings = system["settings"]
    assert isinstance(settings, dict)
    kind = "virtual machine" if system["virtual_machine"] else "no hypervisor seen"
    lines = [
        "# Programs of Caffe's users: Caffe's own memory layer, and the library preloaded",
        "",
        *(["**Quick: small images and one run on each side. Not to be quoted.**", ""] if quick else []),
        f"- Machine: {system['processor']}, {os.cpu_count()} processors, {gib}, {kind}. Only this one was measured.",
        f"- System: {system['kernel']}, {system['c_library']}; huge pages {system['huge_pages']}, defrag {system['huge_page_defrag']}.",
        f"- Settings: {', '.join(f'{name}={value}' for name, value in settings.items()) or 'none in the environment'}.",
        "- Caffe: Debian bullseye's caffe-cpu and pycaffe, with this system's OpenBLAS on one thread.",
        f"- Order: original, library, library, original, and so on; pairs of processes for each program: {pairs}.",
        "- Cells: the library's figure as a share of the original's, the median of the pairs; in brackets the medians of both, from wait4.",
        "  For eight at once: sums, except the wall time.",
        f"- *No difference*: the ratios of the pairs, rounded to two digits, lie around 1 and within {NARROW:g}.",
        "- *0.87 to 1.09*: the ratios lie around 1 and farther from each other, so this run decides nothing.",
        f"- *Below {LEAST_SYSTEM_TIME:g} s*: both medians of the system time are. The kernel counts it in ticks, too few here to compare.",
        "",
    ]
    return "\n".join(lines)


def most_memory(one: Measured, quick: bool) -> float:
    shares = one.workload.shares
    if not shares:
        return MOST_MEMORY
    return (quick and shares.most_quick) or shares.most


def missed(measured: List[Measured], quick: bool) -> List[str]:
    """A sentence for each bound that was missed."""
    found = []
    for one in measured:
        faults = MOST_FAULTS_GROWING if one.workload.id == "detector" else MOST_FAULTS
        bounds = [(MINOR, faults), (PEAK, most_memory(one, quick))]
        if one.workload.settings:
            # A recording takes memory too, and a quick run is too short to time.
            bounds = [] if quick else [(PROCESSOR, MOST_TIME_TRACED)]
        if one.workload.shares:
            bounds += [(pass_time(name), most) for name, most in one.workload.shares.times.items()]
        for measure, most in bounds:
            middle = statistics.median(one.ratios(measure))
            if middle > most:
                found.append(f"missed: {one.workload.name}: {measure.name}: ratio {middle:.3f}; bound: <= {most:.2f}")
    return found
