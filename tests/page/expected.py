"""The numbers that a page must have, computed from the trace's records with none of the command's code."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from held import Held

KINDS = ["pageable", "pinned", "device"]
SIDES = ["host", "device"]
# Records that only say what others mean.
NOT_EVENTS = ["site", "named", "items", "mode", "net", "step"]
PATHS = ["pinned", "pageable"]


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
        self.live: Counter[str] = Counter()
        self.counters: dict[str, int] = dict.fromkeys(KINDS, 0)
        self.events = 0
        # Nanoseconds by the kind of pass.
        self.passes: Counter[str] = Counter()
        self.held = Held()
        # The step that a thread executes, the blocks of arenas, and the most that was lent in each step, by kind.
        self.executing: dict[int, int] = {}
        self.lent: dict[tuple[str, str], tuple[int, int]] = {}
        self.steps: dict[int, Counter[str]] = {}
        self._declare()
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
            self._lend(record.get("tid", 0), arguments)
        happened.sort(key=lambda event: event[0])
        for _, took, arguments in happened:
            self.events += 1
            self._count(arguments, took)
        self._add_up()

    def _declare(self) -> None:
        """Everything that the page tells, whether it happened or not."""
        sums = [f"copies.{side}.{path}" for side in SIDES for path in PATHS] + [f"fills.{side}" for side in SIDES]
        sums += ["waits", "synchronised", "registered", "evicted", "failed.host", "failed.device"]
        names = [f"{name}.{what}" for name in sums for what in ["count", "bytes", "time"]]
        for kind in KINDS:
            names += [f"{kind}.{what}" for what in ["peak", "live", "fresh.count", "fresh.bytes", "fresh.time"]]
            names += [f"{kind}.pooled.count", f"{kind}.freed.count", f"peak.{kind}"]
        names += [f"accesses.{side}.{access}" for side in SIDES for access in ["read", "write", "overwrite"]]
        names += ["made", "made.unseen", "ended", "filled", "copied.host", "copied.device"]
        names += [f"time.{what}" for what in ["allocation", "pinning", "copies", "waiting"]]
        self.facts.update(dict.fromkeys(names, 0))

    def _sum(self, name: str, size: int, took: int) -> None:
        self.facts.update({f"{name}.count": 1, f"{name}.bytes": size, f"{name}.time": took})

    def _count(self, what: dict[str, Any], took: int) -> None:
        size = what.get("bytes", 0)
        kind = what.get("kind")
        match what["what"]:
            case "made":
                self.facts.update({"made": 1, "made.unseen": int(what["noticed"] == "first access")})
            case "ended":
                self.facts["ended"] += 1
            case "accessed":
                self.facts[f"accesses.{what['side']}.{what['access']}"] += 1
            case "allocated":
                if what["origin"] == "fresh":
                    self._sum(f"{kind}.fresh", size, took)
                else:
                    self.facts[f"{kind}.pooled.count"] += 1
                self.live[kind] += size
                self.facts[f"{kind}.peak"] = max(self.facts[f"{kind}.peak"], self.live[kind])
            case "freed":
                self.facts[f"{kind}.freed.count"] += 1
                self.live[kind] -= size
            case "copied" | "started":
                self._sum(f"copies.{what['to']}.{what['path']}", size, took)
            case "filled":
                self._sum(f"fills.{what['side']}", size, took)
            case "completed":
                self._sum("waits", 0, took)
            case "evicted":
                self._sum("evicted", size, took)
            case "failed":
                self._sum(f"failed.{what['side']}", size, took)
            case "registered" | "synchronised" as name:
                self._sum(name, size, took)

    def _lend(self, thread: int, what: dict[str, Any]) -> None:
        block = (what.get("object", ""), what.get("kind", ""))
        if what.get("what") == "step":
            self.executing[thread] = what["step"]
        elif what.get("origin") == "arena":
            self.lent[block] = (thread, what["bytes"])
        elif what.get("what") == "freed":
            self.lent.pop(block, None)
        if thread in self.executing:
            now: Counter[str] = Counter()
            for (_, kind), (of, size) in self.lent.items():
                now[kind] += size if of == thread else 0
            step = self.executing[thread]
            self.steps[step] = self.steps.get(step, Counter()) | now

    def _add_up(self) -> None:
        facts = self.facts
        for kind in KINDS:
            facts[f"{kind}.live"] = self.live[kind]
            facts[f"peak.{kind}"] = facts[f"{kind}.peak"]
            facts[f"lent.{kind}"] = max((step[kind] for step in self.steps.values()), default=0)
        for side in SIDES:
            facts[f"copied.{side}"] = sum(facts[f"copies.{side}.{path}.bytes"] for path in PATHS)
        facts["filled"] = sum(facts[f"fills.{side}.bytes"] for side in SIDES)
        facts["time.allocation"] = facts["pageable.fresh.time"] + facts["device.fresh.time"]
        facts["time.pinning"] = facts["pinned.fresh.time"] + facts["registered.time"]
        facts["time.copies"] = sum(facts[f"copies.{side}.{path}.time"] for side in SIDES for path in PATHS)
        facts["time.waiting"] = facts["waits.time"] + facts["synchronised.time"]


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
