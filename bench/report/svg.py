"""A chart with logarithmic axes, as SVG that reads well on a light and on a dark page."""

import math
from dataclasses import dataclass, field
from html import escape
from typing import Dict, List, Sequence, Tuple

# Per side: on a light page, on a dark one.
COLOURS = {
    "library": ("#1d4ed8", "#7cb0ff"),
    "original": ("#c2410c", "#ff9f5a"),
    "malloc": ("#57606a", "#b0b8c1"),
    "mimalloc": ("#1a7f37", "#5fd07a"),
    "jemalloc": ("#8250df", "#cba6ff"),
}
TITLE_AT, FONT = 24, 13


def style() -> str:
    def rules(theme: int, page: str, ink: str, faint: str) -> str:
        # No variables: not every program that draws SVG knows them.
        sides = "".join(
            f".dot.{side}{{fill:{both[theme]}}}.line.{side}{{stroke:{both[theme]}}}" for side, both in COLOURS.items()
        )
        return f".page{{fill:{page}}}text{{fill:{ink}}}.grid{{stroke:{faint}}}.even{{stroke:{ink}}}{sides}"

    return (
        f"text{{font:{FONT}px system-ui,sans-serif}}"
        ".title{font-weight:600;font-size:15px}.foot{font-size:11px}.grid{stroke-width:1}"
        ".even{stroke-width:1.5;stroke-dasharray:4 3}.line{stroke-width:2;fill:none}"
        + rules(0, "#ffffff", "#1f2328", "#d8dee4")
        + "@media(prefers-color-scheme:dark){"
        + rules(1, "#0d1117", "#e6edf3", "#30363d")
        + "}"
    )


@dataclass
class Axis:
    """Logarithmic, from `low` to `high` of the data, along the pixels from `start` to `end`."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        share = (math.log(value) - math.log(self.low)) / (math.log(self.high) - math.log(self.low))
        return self.start + share * (self.end - self.start)

    def decades(self) -> List[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        return [10.0**power for power in powers if self.low * 0.999 <= 10.0**power <= self.high * 1.001]


def around(values: Sequence[float]) -> Tuple[float, float]:
    """Edges for an axis: the whole decades around the values."""
    return 10.0 ** math.floor(math.log10(min(values))), 10.0 ** math.ceil(math.log10(max(values) * 1.001))


@dataclass
class Drawing:
    width: float
    height: float
    title: str
    parts: List[str] = field(default_factory=list)

    def text(self, x: float, y: float, words: str, anchor: str = "start", kind: str = "") -> None:
        named = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{named}>{escape(words)}</text>')

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str = "grid") -> None:
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def dot(self, x: float, y: float, side: str, tip: str) -> None:
        # The library's mark is larger and drawn first: it differs from the others without its colour, and hides none.
        radius = 6.5 if side == "library" else 4
        self.parts.append(
            f'<circle class="dot {side}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"><title>{escape(tip)}</title></circle>'
        )

    def path(self, points: Sequence[Tuple[float, float]], side: str) -> None:
        joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline class="line {side}" points="{joined}"/>')

    def legend(self, sides: Sequence[str], names: Dict[str, str]) -> None:
        x = 16.0
        for side in sides:
            self.dot(x, TITLE_AT + 18, side, names[side])
            self.text(x + 10, TITLE_AT + 22, names[side])
            x += 30 + 7.2 * len(names[side])

    def foot(self, words: str) -> None:
        """A line below all the rest."""
        self.height += 26
        self.text(10, self.height - 12, words, kind="foot")

    def svg(self) -> str:
        size = f'width="{self.width:g}" height="{self.height:g}" viewBox="0 0 {self.width:g} {self.height:g}"'
        title = escape(self.title)
        head = f'<text class="title" x="10" y="{TITLE_AT}">{title}</text>'
        body = "\n".join(self.parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{title}">\n'
            f'<style>{style()}</style>\n<rect class="page" width="100%" height="100%" rx="6"/>\n{head}\n{body}\n</svg>\n'
        )
