"""Who held memory when, computed from a process's records with none of the command's code: the lives of all blocks."""

import re
from bisect import bisect_left
from collections import Counter
from dataclasses import dataclass
from typing import Any, Callable

HISTORY = re.compile(r"(.+?)(?: (?:weights|bias|parameter)(?: \d+)?)? history")
OTHER = re.compile(r"(.+) (weights|bias|parameter|output|data|internal)(?: \d+)?( gradient)?")
NO_ROLE = "without a layer's name"
NO_TYPE = "of an unknown type"
ROLES = {
    ("data", False): "data",
    ("data", True): "gradients of activations",
    ("output", False): "activations",
    ("output", True): "gradients of activations",
    ("internal", False): "inside layers",
}


def layer_and_role(name: str | None) -> tuple[str, str] | None:
    """What a name of libsyncedmem_net.so says."""
    if name is None:
        return None
    if match := HISTORY.fullmatch(name):
        return match[1], "solver history"
    if match := OTHER.fullmatch(name):
        layer, word, is_gradient = match[1], match[2], match[3] is not None
        role = ROLES.get((word, is_gradient), "gradients of weights" if is_gradient else "weights")
        return None if (word, is_gradient) == ("internal", True) else (layer, role)
    return None


@dataclass
class Life:
    """A block: held after the events from `first` up to `last`, without that one."""

    kind: str
    size: int
    address: str
    first: int
    made: int
    # The texts of all call sites, and the types of layers: they may come later.
    places: dict[int, str]
    types: dict[str, str]
    name: str | None = None
    last: float = float("inf")

    @property
    def place(self) -> str:
        """The place that made its object."""
        return self.places.get(self.made, "an unknown place")

    def layer(self) -> str:
        """The layer that it belongs to, or its own name or place."""
        of_layer = layer_and_role(self.name)
        return of_layer[0] if of_layer else self.name or self.place

    def role(self) -> str:
        """Its role in the net."""
        of_layer = layer_and_role(self.name)
        return of_layer[1] if of_layer else NO_ROLE

    def type(self) -> str:
        """The type of its layer."""
        of_layer = layer_and_role(self.name)
        return self.types.get(of_layer[0], NO_TYPE) if of_layer else NO_ROLE

    def frames(self) -> list[str]:
        """Its call site, the outermost frame first, its role and its name."""
        match = re.fullmatch(r"(.*) \((.*?)\)", self.place)
        place, module = (match[1], [match[2]]) if match else (self.place, [])
        named = [self.role()] * (layer_and_role(self.name) is not None) + [self.name] if self.name else []
        return module + place.split(", from ")[::-1] + named


class Held:
    """The blocks of one process."""

    def __init__(self) -> None:
        self.lives: list[Life] = []
        self.places: dict[int, str] = {}
        self.types: dict[str, str] = {}
        # Time from the first event's start, and bytes of each kind, after each event.
        self.times: list[int] = []
        self.levels: list[Counter[str]] = []
        self._begin: int | None = None
        self._now: Counter[str] = Counter()
        self._made: dict[str, int] = {}
        self._names: dict[str, str] = {}
        self._open: dict[tuple[str, bool], Life] = {}

    def note(self, what: dict[str, Any]) -> None:
        """Takes over a name, the text of a place, or the types of a net's layers."""
        if what["what"] == "site":
            self.places[what["site"]] = what["place"]
        elif what["what"] == "net":
            self.types.update((line.split("\t")[1], line.split("\t")[0] or NO_TYPE) for line in what["layers"].splitlines())
        elif what["what"] == "named" and what["object"] in self._made:
            self._names[what["object"]] = what["name"]
            for (of, _), life in self._open.items():
                if of == what["object"]:
                    life.name = what["name"]

    def take(self, start: int, end: int, what: dict[str, Any]) -> None:
        """Takes the next event."""
        self._begin = start if self._begin is None else self._begin
        this = what.get("object", "")
        if what["what"] in ["made", "ended"]:
            for key in [key for key in self._open if key[0] == this]:
                self._close(key)
            self._names.pop(this, None)
            self._made.pop(this, None)
        if what["what"] != "ended":
            self._made.setdefault(this, what.get("site", 0) if what["what"] == "made" else 0)
        if what["what"] == "allocated":
            # An object that was made without a place has that of its first block.
            self._made[this] = self._made[this] or what.get("site", 0)
            life = Life(what["kind"], what["bytes"], what["block"], len(self.times), self._made[this], self.places, self.types, self._names.get(this))
            self._close((this, life.kind == "device"))
            self._open[this, life.kind == "device"] = life
            self.lives.append(life)
            self._now[life.kind] += life.size
        elif what["what"] == "freed":
            key = (this, what["kind"] == "device")
            if key in self._open and self._open[key].address == what["block"]:
                self._close(key)
        self.times.append(max(end - self._begin, *self.times[-1:], 0))
        self.levels.append(self._now.copy())

    def _close(self, key: tuple[str, bool]) -> None:
        life = self._open.pop(key, None)
        if life:
            life.last = len(self.times)
            self._now[life.kind] -= life.size

    def greatest(self, kind: str, begin: int, end: int) -> int:
        """The event after which most was held between two times, the first one; -1: before all events."""
        moments = range(bisect_left(self.times, begin) - 1, bisect_left(self.times, end))
        return max(moments, key=lambda moment: self.levels[moment][kind] if moment >= 0 else 0)

    def at_peak(self, kind: str, by: Callable[[Life], Any]) -> Counter[Any]:
        """Bytes when most was held, the first time."""
        return self.at(kind, self.greatest(kind, 0, self.times[-1] + 1), by)

    def roles(self) -> dict[str, int]:
        """Bytes at the peaks by role, by the page's names; nothing if no object's name says a role."""
        kinds = {life.kind for life in self.lives}
        roles = {f"role.{kind}.{role}": size for kind in kinds for role, size in self.at_peak(kind, Life.role).items()}
        return roles if any(not role.endswith(NO_ROLE) for role in roles) else {}

    def at(self, kind: str, moment: int, by: Callable[[Life], Any]) -> Counter[Any]:
        """Bytes after an event, by what `by` calls them."""
        held: Counter[Any] = Counter()
        for life in self.lives:
            if life.kind == kind and life.first <= moment < life.last:
                held[by(life)] += life.size
        return held

    def stack(self, kind: str, by: Callable[[Life], Any], width: int, columns: int) -> list[Counter[Any]]:
        """What was held at the greatest moment of each column."""
        return [self.at(kind, self.greatest(kind, n * width, (n + 1) * width), by) for n in range(columns)]
