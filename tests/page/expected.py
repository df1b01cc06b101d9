"""The numbers that a page must have, computed from the trace's records with none of the command's code."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from held import Held

KINDS = ["pageable", "pinned", "device"]
# Records that only say what others mean.
NOT_EVENTS = ["site", "named", "items", "mode", "net", "step"]
# As what contents waited, in the order of the notes of libsyncedmem_net.so.
WAYS = ["duplicates", "by their small differences", "by their zeros"]


def records(trace: Path) -> list[dict[str, Any]]:
    """Every record of an export."""
    return list(json.loads(trace.read_text()))


def nanoseconds(microseconds: float) -> int:
    """Exact, since a trace has three decimals."""
    return round(microseconds * 1000)


class Expected:
    """The numbers of one process, by the names that the page gives them."""

    def __init__(self, records_of_process: list[dict[str, Any]]) -> None:
        self.facts: Counter[str] = Counter()
        # Objects; bytes by the side that they were copied to.
        self.counts: Counter[str] = Counter()
        self.copied: Counter[str] = Counter()
        self.counters: dict[str, int] = dict.fromkeys(KINDS, 0)
        self.events = 0
        # Nanoseconds by the kind of pass.
        self.passes: Counter[str] = Counter()
        self.held = Held()
        # The step that a thread executes, the blocks of arenas, and the most in use in each step, by kind.
        self.executing: dict[int, int] = {}
        self.arena: dict[tuple[str, str], tuple[int, int]] = {}
        self.steps: dict[int, Counter[str]] = {}
        happened = []
        for record in records_of_process:
            arguments = record.get("args", {})
            if record["name"] == "syncedmem_end":
                self.counters = arguments["peaks"]
            elif arguments.get("what") == "pass":
                name, took = record["name"], nanoseconds(record["dur"])
                self.passes[name] += took
                self.facts.update({f"passes.{name}.count": 1, f"passes.{name}.time": took})
            elif record["ph"] in "Xi" and arguments["what"] not in NOT_EVENTS:
                took = arguments.get("took", nanoseconds(record.get("dur", 0)))
                start = nanoseconds(record["ts"])
                happened.append((start + took, took, arguments))
                self.held.take(start, start + took, arguments)
            elif record["ph"] == "i":
                self.held.note(arguments)
                self._wait(arguments.get("layers", ""))
            self._lend(record.get("tid", 0), arguments)
        happened.sort(key=lambda event: event[0])
        for _, took, arguments in happened:
            self.events += 1
            self._count(arguments, took)
        for kind in KINDS:
            self.facts[f"peak.{kind}"] = max((level[kind] for level in self.held.levels), default=0)
            self.facts[f"arena.{kind}"] = max((step[kind] for step in self.steps.values()), default=0)

    def _sum(self, name: str, size: int, took: int) -> None:
        self.facts.update({f"{name}.count": 1, f"{name}.bytes": size, f"{name}.time": took})

    def _count(self, what: dict[str, Any], took: int) -> None:
        size = what.get("bytes", 0)
        kind = what.get("kind")
        match what["what"]:
            case "made":
                self.counts.update({"made": 1, "noticed": int(what["noticed"] == "first access")})
            case "ended":
                self.counts["ended"] += 1
            case "allocated":
                source = "pool" if what["origin"] != "fresh" else "system" if kind == "pageable" else "driver"
                self._sum(f"{kind} memory from the {source}", size, took)
            case "copied" | "started":
                self._sum(f"copy to the {what['to']}, {what['path']}", size, took)
                self.copied[what["to"]] += size
            case "filled":
                self._sum(f"fill of the {what['side']} with zeros", size, took)
            case "completed":
                self._sum("wait for a copy in flight", 0, took)
            case "synchronised":
                self._sum("wait for all work of a context", 0, took)
            case "failed":
                self._sum(f"allocation for the {what['side']} that failed", size, took)

    def sentences(self) -> list[str]:
        """What the page says of objects."""
        counts, said = self.counts, [f"objects made: {self.counts['made']}, ended: {self.counts['ended']}"]
        if counts["noticed"]:
            said.append(f"{counts['noticed']} objects were noticed at an access")
        return said

    def _wait(self, note: str) -> None:
        if note.startswith("\tshared\t"):
            numbers = list(map(int, note.split("\t")[9:]))
            for at, way in enumerate(WAYS):
                for figure, number in zip(("count", "bytes", "kept"), numbers[3 * at :]):
                    self.facts[f"waited.{way}.{figure}"] = number

    def _lend(self, thread: int, what: dict[str, Any]) -> None:
        block = (what.get("object", ""), what.get("kind", ""))
        if what.get("what") == "step":
            self.executing[thread] = what["step"]
        elif what.get("origin") == "arena":
            self.arena[block] = (thread, what["bytes"])
        elif what.get("what") == "freed":
            self.arena.pop(block, None)
        if thread in self.executing:
            now: Counter[str] = Counter()
            for (_, kind), (of, size) in self.arena.items():
                now[kind] += size if of == thread else 0
            step = self.executing[thread]
            self.steps[step] = self.steps.get(step, Counter()) | now


def processes(trace: Path) -> dict[int, Expected]:
    """Each process that did something, by its number."""
    by_process: dict[int, list[dict[str, Any]]] = {}
    for record in records(trace):
        by_process.setdefault(record["pid"], []).append(record)
    expected = {process: Expected(of_process) for process, of_process in by_process.items()}
    for record in records(trace):
        # A forked child knows its parent's call sites.
        if parent := expected.get(record.get("args", {}).get("parent")):
            places = expected[record["pid"]].held.places
            places.update(parent.held.places | places)
    for this in expected.values():
        this.facts.update(this.held.roles())
    return {process: this for process, this in expected.items() if this.events > 0}
