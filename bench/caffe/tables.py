"""The figures as Markdown, and the bounds."""

import os
import statistics
from dataclasses import dataclass
from typing import Callable, List, Optional, Tuple

from processes import Run
from system import describe_system
from workloads import Workload

# The library's share of the original's, at most. Faults and memory are counted and not timed, so these hold on a busy machine too.
MOST_FAULTS = 1.05
# The detector's blobs grow again and again, to sizes that no kept block fits: each time the library maps new pages, where the
# original's heap grows by the difference. 1.26 was measured.
MOST_FAULTS_GROWING = 1.35
MOST_MEMORY = 1.10
# Of the processor's time where all events are recorded.
MOST_TIME_TRACED = 1.05
# The widest spread of ratios that shows two sides as equal.
NARROW = 0.2
# The kernel counts system time in ticks, mostly of 4 ms: of a shorter one there are too few to compare.
LEAST_SYSTEM_TIME = 0.1
NO_DIFFERENCE = "no difference"
VARIES = "varies"
TOO_SHORT = f"below {LEAST_SYSTEM_TIME:g} s"


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
FIRST = Measure("to the first result", lambda run: run.first, seconds)
USER = Measure("user time", lambda run: run.user, seconds)
SYSTEM = Measure("system time", lambda run: run.system, seconds)
MINOR = Measure("minor page faults", lambda run: run.minor, count)
MAJOR = Measure("major page faults", lambda run: run.major, count)
PROCESSOR = Measure("processor time", lambda run: run.user + run.system, seconds)
PEAK = Measure("peak memory", lambda run: run.peak, mebibytes)
MEASURES = (WALL, FIRST, USER, SYSTEM, MINOR, MAJOR, PEAK)
SHORT = (WALL, SYSTEM, MINOR, PEAK)


def pass_time(name: str) -> Measure:
    return Measure(f"processor time of the {name} pass", lambda run: run.seconds[name], seconds)


@dataclass(frozen=True)
class Measured:
    workload: Workload
    pairs: List[Tuple[Run, Run]]  # the original's, the library's

    def side(self, measure: Measure, side: int) -> List[float]:
        return [measure.of(pair[side]) for pair in self.pairs]

    def ratios(self, measure: Measure) -> Optional[List[float]]:
        """The library's figure as a share of the original's, pair by pair; None if an original's is zero."""
        pairs = list(zip(self.side(measure, 0), self.side(measure, 1)))
        return [ours / original for original, ours in pairs] if all(original for original, _ in pairs) else None

    def verdict(self, measure: Measure) -> str:
        """`no difference`, `varies`, too short to compare, or nothing where the sides differ."""
        if measure is SYSTEM and all(statistics.median(self.side(SYSTEM, side)) < LEAST_SYSTEM_TIME for side in (0, 1)):
            return TOO_SHORT
        ratios = self.ratios(measure)
        if ratios is None:
            return NO_DIFFERENCE if self.side(measure, 0) == self.side(measure, 1) else ""
        low, high = round(min(ratios), 2), round(max(ratios), 2)
        if not low <= 1 <= high:
            return ""
        return NO_DIFFERENCE if round(high - low, 2) <= NARROW else VARIES


def spread(values: List[float], shown: Callable[[float], str]) -> str:
    if shown(min(values)) == shown(max(values)):
        return shown(values[0])
    return f"{shown(statistics.median(values))} [{shown(min(values))} - {shown(max(values))}]"


def ratio(value: float) -> str:
    return f"{value:.2f}"


def row(*cells: str) -> str:
    return "| " + " | ".join(cells) + " |"


def short_table(measured: List[Measured]) -> str:
    """The table to read first."""

    def cell(one: Measured, measure: Measure) -> str:
        verdict = one.verdict(measure)
        ratios = one.ratios(measure)
        if verdict == VARIES and ratios:
            return f"{ratio(min(ratios))} to {ratio(max(ratios))}"
        return verdict or (ratio(statistics.median(ratios)) if ratios else "")

    lines = [row("Program", *(measure.name for measure in SHORT)), row(*["---"] * (1 + len(SHORT)))]
    lines += [row(one.workload.name, *(cell(one, measure) for measure in SHORT)) for one in measured]
    return "\n".join(lines) + "\n"


def sharing_table(measured: List[Measured], quick: bool) -> str:
    """The peaks of programs that share memory, with what they may be at most, and what is to be reached."""
    lines = [row("Program", "`SYNCEDMEM_SHARE`", "original", "library", "ratio", "at most", "goal"), row(*["---"] * 7)]
    for one in measured:
        shares = one.workload.shares
        assert shares
        peaks = (spread(one.side(PEAK, side), PEAK.shown) for side in (0, 1))
        goal = "" if quick else ratio(shares.goal)
        lines.append(
            row(one.workload.name, shares.setting, *peaks, spread(one.ratios(PEAK) or [], ratio), ratio(most_memory(one, quick)), goal)
        )
    return "\n".join(lines) + "\n"


def times_table(measured: List[Measured]) -> str:
    """Processor times of single passes, and what they may be at most. Empty without any."""
    lines = [row("Program", "pass", "original", "library", "ratio", "at most"), row(*["---"] * 6)]
    for one in measured:
        for name, most in one.workload.shares.times.items() if one.workload.shares else ():
            measure = pass_time(name)
            sides = (spread(one.side(measure, side), seconds) for side in (0, 1))
            lines.append(row(one.workload.name, name, *sides, spread(one.ratios(measure) or [], ratio), ratio(most)))
    return "\n".join(lines) + "\n" if len(lines) > 2 else ""


def table(measured: List[Measured]) -> str:
    """Every figure."""
    lines = [row("Program", "", "original", "library", "ratio", ""), row(*["---"] * 6)]
    for one in measured:
        for measure in MEASURES:
            ratios = one.ratios(measure)
            lines.append(
                row(
                    one.workload.name if measure is MEASURES[0] else "",
                    measure.name,
                    *(spread(one.side(measure, side), measure.shown) for side in (0, 1)),
                    spread(ratios, ratio) if ratios else "",
                    one.verdict(measure),
                )
            )
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
        "- Figures: the median [least - most] of the processes, from wait4. Of eight at once: sums, but the times on the clock.",
        "- Ratio: the library's figure as a share of the original's, pair by pair; below 1 is less.",
        f"- *No difference*: the spread of the ratios, rounded to two digits, covers 1 and is at most {NARROW:g} wide.",
        "- *Varies*: the spread covers 1 and is wider, so that this run decides nothing. The first table then shows the spread.",
        f"- *{TOO_SHORT.capitalize()}*: both medians of the system time are. The kernel counts it in ticks, too few here to compare.",
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
            # A recording is memory too, and a quick run is too short to time.
            bounds = [] if quick else [(PROCESSOR, MOST_TIME_TRACED)]
        if one.workload.shares:
            bounds += [(pass_time(name), most) for name, most in one.workload.shares.times.items()]
        for measure, most in bounds:
            ratios = one.ratios(measure)
            assert ratios
            middle = statistics.median(ratios)
            if middle > most:
                found.append(f"missed: {one.workload.name}: {measure.name}: ratio {middle:.3f}; bound: <= {most:.2f}")
    return found
