"""Checks the page that `syncedmem report` makes of a trace, in a real browser.

Started by `tests/page/run`. Each check prints one line; the last line counts them.
"""

import argparse
import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Callable

from browser import Browser, BrowserError
from expected import KINDS, Expected, processes
from figures import NARROW, WIDE, Figures, is_shown
from held import NO_ROLE, Life

LOOKS = Path(__file__).with_name("looks.js").read_text()
# The width of A4 paper.
PAPER = 718
LARGEST_BYTES = 1_000_000


class Facts(HTMLParser):
    """The numbers that have a name, by process; those of the whole trace are process 0's."""

    def __init__(self) -> None:
        super().__init__()
        self.facts: dict[int, dict[str, int]] = {0: {}}
        self._process = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if "data-process" in attributes:
            self._process = int(attributes["data-process"] or 0)
            self.facts[self._process] = {}
        name = attributes.get("data-fact")
        if name is not None:
            assert name not in self.facts[self._process], f"{name} is there twice"
            self.facts[self._process][name] = int(attributes["data-v"] or "")


def facts_of(page: str) -> dict[int, dict[str, int]]:
    """The named numbers of a page."""
    parser = Facts()
    parser.feed(page)
    return parser.facts


class Checks(Figures):
    """The checks, and what they share."""

    def __init__(self, browser: Browser, options: argparse.Namespace) -> None:
        self.browser = browser
        self.page: Path = options.page
        self.expected: dict[int, Expected] = processes(options.trace)
        self.pictures: Path | None = options.pictures
        self.rule: str | None = options.rule
        self.holder: str | None = options.holder
        self.text: Path = options.text

    def _looks(self, question: str) -> list[str]:
        answer: Any = self.browser.value(f"{LOOKS}.{question}()")
        return list(answer)

    def _nothing_wrong(self, question: str, *screens: dict[str, Any]) -> None:
        for screen in screens:
            self.browser.open(self.page, **screen)
            wrong = self._looks(question)
            assert not wrong, f"{screen}: {'; '.join(wrong[:8])}"

    def _said(self, process: int) -> str:
        """The text of a process's section, in one line."""
        said = self.browser.value(f"document.querySelector('.process[data-process=\"{process}\"]').textContent")
        return " ".join(said.split())

    def the_numbers_on_the_page_are_those_in_the_trace(self) -> None:
        """Every one of them, counted from the trace another way, and no other."""
        self.browser.open(self.page, WIDE)
        told = facts_of(self.browser.source())
        assert told.pop(0) == {"events": sum(each.events for each in self.expected.values())}, "events"
        assert told.keys() == self.expected.keys(), f"processes {told.keys()}, not {self.expected.keys()}"
        said = {process: self._said(process) for process in told}
        for process, numbers in told.items():
            missing = [sentence for sentence in self.expected[process].sentences() if sentence not in said[process]]
            assert not missing, f"process {process}: {missing}"
            right = dict(self.expected[process].facts)
            right = {name: number for name, number in right.items() if name in numbers or number}
            wrong = {name: (numbers.get(name), right.get(name)) for name in {*numbers, *right}}
            wrong = {name: both for name, both in wrong.items() if both[0] != both[1]}
            assert not wrong, f"process {process}, page and trace: {wrong}"

    def the_peaks_are_those_that_the_library_counted_itself(self) -> None:
        """The recording's account is the library's own, not the command's."""
        told = facts_of(self.page.read_text())
        for process, each in self.expected.items():
            peaks = {kind: told[process].get(f"peak.{kind}", 0) for kind in each.counters}
            assert peaks == each.counters, f"page and library: {peaks}, {each.counters}"
            assert any(peaks.values()), "nothing was held"

    def the_page_says_what_the_text_says(self) -> None:
        """The sentences of the first screen, and as much advice."""
        self.browser.open(self.page, WIDE)
        said = self.browser.value("[...document.querySelectorAll('.process')].map((e) => e.innerText).join(' ')")
        said = " ".join(said.lower().split())
        paragraphs = [" ".join(part.split()) for part in re.split(r"\n\n|\n(?=at batch|peak |(?:with )?--share=|shared |[\d.]+ \w+ waited )", self.text.read_text())]
        sentences = [part for part in paragraphs if re.match(r"peak |at batch|(with )?--share=|shared |[\d.]+ \w+ waited |\d+ (copies|copy|fills?) |no copies", part)]
        assert len(sentences) >= 2 * len(self.expected), f"{paragraphs}"
        wrong = [sentence for sentence in sentences if sentence.lower() not in said]
        assert not wrong, "; ".join(wrong)
        worth = self.browser.value("document.querySelectorAll('.advice > ol > li').length")
        told = len(re.findall(r"^ +\d+\. \w+: ", self.text.read_text(), re.MULTILINE))
        assert worth == told, f"{worth} pieces of advice, not {told}"

    def the_page_shows_the_numbers_to_readers_too(self) -> None:
        """A cell's text is the number behind it, in readable units."""
        self.browser.open(self.page, WIDE)
        cells = self.browser.value("[...document.querySelectorAll('[data-fact]')].map((e) => [e.dataset.v, e.innerText])")
        assert len(cells) > 10, f"{len(cells)} numbers"
        for number, shown in cells:
            assert is_shown(number, shown), f"{number} is shown as {shown}"

    def what_the_charts_show_adds_up(self) -> None:
        """Their tables: as many bytes as were copied, and no more and no less than the peaks."""
        self.browser.open(self.page, WIDE)
        rows = """[...document.querySelectorAll('.process')].map((process) => [Number(process.dataset.process),
            [...process.querySelectorAll('figure:not(.arena) details')].map((table) => [...table.querySelectorAll('tbody tr')].map(
                (row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.dataset.v))))])"""
        for process, tables in self.browser.value(rows):
            facts = self.expected[process].facts
            held = [facts[f"peak.{kind}"] for kind in KINDS if facts[f"peak.{kind}"]]
            copied = [self.expected[process].copied[side] for side in ("host", "device")]
            assert len(tables) == bool(held) + any(copied), f"{process}: {len(tables)} tables"
            columns = [list(zip(*table)) for table in tables]
            if held:
                least, most = columns[0][0::2], columns[0][1::2]
                assert [max(column) for column in most] == held, f"{process}: {most}"
                assert all(low <= high for pair in zip(least, most) for low, high in zip(*pair)), f"{process}: least above most"
            if any(copied):
                assert [sum(column) for column in columns[-1]] == copied, f"{process}: {columns[-1]}"

    def the_holders_are_named(self) -> None:
        """By the names and places that this program has, markup or not."""
        self.browser.open(self.page, NARROW)
        names = "[...document.querySelectorAll('.table .who')].map((e) => e.innerText)"
        held = self.browser.value(names)
        assert held, "the page names no holder"
        assert not self.holder or any(self.holder in name for name in held), f"they are {held}"

    def tables_are_searched_and_summed_up(self) -> None:
        """The table of holders: rows that have each word, and sums by layer, type and role."""
        self.browser.open(self.page, WIDE)
        for process, each in self.expected.items():
            table = f"document.querySelector('.process[data-process=\"{process}\"] [aria-label=Holders]')"
            rows = f"[...{table}.querySelectorAll('tbody tr')].map((row) => [row.cells[0].textContent, Number(row.cells[1].dataset.v)])"
            find = f"{table}.previousElementSibling.querySelector"
            before = self.browser.value(rows)
            if len(before) < 12:
                continue
            self.browser.value(f"{find}('input').value = 'gradient OUT'; {find}('input').dispatchEvent(new Event('input'))")
            found = self.browser.value(rows)
            assert found == [row for row in before if "gradient" in row[0] and "out" in row[0]] != [], f"{found}"
            self.browser.value(f"{find}('input').value = ''; {find}('input').dispatchEvent(new Event('input'))")
            assert self.browser.value(rows) == before, "an empty search leaves rows out"
            by: dict[str, Callable[[Life], str]] = {"layer": Life.layer, "type": Life.type, "role": Life.role}
            for key, of in by.items():
                self.browser.value(f"{find}('select').value = '{key}'; {find}('select').dispatchEvent(new Event('input'))")
                told = {re.sub(r" \(\d+\)$", "", name): size for name, size in self.browser.value(rows)}
                right = each.held.at_peak("pageable", of)
                del right[NO_ROLE]
                assert {name: size for name, size in told.items() if name in right} == right, f"{key}: {told}, not {right}"

    def shares_are_bars(self) -> None:
        """Behind the names, as high as their rows and as long as the share."""
        self.browser.open(self.page, NARROW)
        bars = """[...document.querySelectorAll('.answer .who')].map((who) => [who.clientHeight, getComputedStyle(who).backgroundImage,
            parseFloat(who.style.getPropertyValue('--share')), Number(who.nextElementSibling.dataset.v),
            Number(who.closest('.kind').querySelector('[data-fact]').dataset.v)])"""
        for height, image, share, part, peak in self.browser.value(bars):
            assert height > 15 and f"{share}%" in image and abs(share - part / peak * 100) < 0.051, f"{height}, {image}, {part} of {peak}"

    def what_few_ask_for_is_folded(self) -> None:
        """The page of a process is a few screens long, and each advice adds some lines."""
        self.browser.open(self.page, WIDE, unfold=False)
        counts = "process.querySelectorAll('.kind, .arena').length, process.querySelectorAll('[data-rule]').length"
        heights = self.browser.value(f"[...document.querySelectorAll('.process')].map((process) => [process.offsetHeight, {counts}])")
        assert all(height < 1800 + 900 * kinds + 160 * advice for height, kinds, advice in heights), f"{heights}"

    def the_advice_is_there(self) -> None:
        """The program's fault is found."""
        self.browser.open(self.page, NARROW)
        rules = self.browser.value("[...document.querySelectorAll('[data-rule]')].map((e) => e.dataset.rule)")
        assert not self.rule or self.rule in rules, f"the rules that speak: {rules}"

    def the_page_asks_for_nothing_and_the_browser_has_no_complaints(self) -> None:
        """One file: no network. The script runs, so its hash is the one that the page names."""
        self.browser.open(self.page, WIDE)
        assert self.browser.value("document.querySelectorAll('thead button').length") > 8, f"the script did not run: {self.browser.complaints()}"
        assert self.browser.requests() == [self.page.resolve().as_uri()], f"{self.browser.requests()}"
        assert not self.browser.complaints(), f"{self.browser.complaints()}"

    def the_page_is_complete_without_its_script(self) -> None:
        """Without scripts the page shows the same numbers."""
        self.browser.open(self.page, WIDE, scripts=False)
        source = self.browser.source()
        assert "<button" not in source, "a script ran"
        assert facts_of(source) == facts_of(self.page.read_text())

    def nothing_sticks_out_on_a_narrow_screen_a_wide_one_or_paper(self) -> None:
        """Tables may scroll by themselves on a screen; on paper nothing can."""
        self._nothing_wrong("sticksOut", {"width": NARROW}, {"width": WIDE}, {"width": PAPER, "paper": True})

    def everything_can_be_read_in_light_and_in_dark(self) -> None:
        """Contrasts as WCAG 2.2 asks for them."""
        self._nothing_wrong("faint", {"width": WIDE}, {"width": WIDE, "dark": True}, {"width": PAPER, "paper": True, "dark": True})
        self.browser.open(self.page, WIDE)
        light = self.browser.value("getComputedStyle(document.body).backgroundColor")
        self.browser.open(self.page, WIDE, dark=True)
        assert self.browser.value("getComputedStyle(document.body).backgroundColor") != light, "dark is light"

    def charts_and_tables_have_names_heads_and_a_text_to_read_instead(self) -> None:
        """For those who hear the page."""
        self._nothing_wrong("unnamed", {"width": WIDE})

    def every_column_sorts_up_and_down(self) -> None:
        """By a button in its head."""
        self._nothing_wrong("unsorted", {"width": WIDE})

    def the_page_is_small(self) -> None:
        """However long the trace."""
        size = self.page.stat().st_size
        assert size < LARGEST_BYTES, f"{size} bytes"

    def take_pictures(self) -> None:
        """For eyes, not for this check."""
        if self.pictures:
            self.pictures.mkdir(parents=True, exist_ok=True)
            for width in [WIDE, NARROW]:
                for dark in [False, True]:
                    self.browser.open(self.page, width, dark=dark, unfold=False)
                    self.browser.screenshot(self.pictures / f"page-{width}-{'dark' if dark else 'light'}.png")
            self.browser.open(self.page, WIDE, unfold=False)
            self.browser.screenshot(self.pictures / "answer.webp", "In short", "Work")
            self.browser.open(self.page, PAPER, paper=True, unfold=False)
            self.browser.screenshot(self.pictures / "page-paper.png")

    def all(self) -> list[Callable[[], None]]:
        """Each check."""
        return [
            self.the_numbers_on_the_page_are_those_in_the_trace,
            self.the_peaks_are_those_that_the_library_counted_itself,
            self.the_page_says_what_the_text_says,
            self.the_page_shows_the_numbers_to_readers_too,
            self.what_the_charts_show_adds_up,
            self.the_answer_stands_first,
            self.the_stacks_show_who_held_what,
            self.passes_fill_the_time_that_they_took,
            self.shared_memory_is_shown_by_layer,
            self.what_waited_is_shown_as_what,
            self.a_brush_selects_a_time,
            self.a_switch_divides_memory_by_role_type_or_layer,
            self.the_flame_graphs_show_who_asked_for_it,
            self.every_frame_that_is_there_can_be_read_on_a_narrow_screen,
            self.every_chart_has_marks_that_lie_free,
            self.a_flame_graph_zooms,
            self.the_holders_are_named,
            self.tables_are_searched_and_summed_up,
            self.shares_are_bars,
            self.what_few_ask_for_is_folded,
            self.the_advice_is_there,
            self.the_page_asks_for_nothing_and_the_browser_has_no_complaints,
            self.the_page_is_complete_without_its_script,
            self.nothing_sticks_out_on_a_narrow_screen_a_wide_one_or_paper,
            self.everything_can_be_read_in_light_and_in_dark,
            self.charts_and_tables_have_names_heads_and_a_text_to_read_instead,
            self.every_column_sorts_up_and_down,
            self.the_page_is_small,
        ]


def main() -> None:
    """Runs every check, whatever becomes of the others."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--browser", required=True)
    parser.add_argument("--profile", required=True, type=Path, help="an empty folder for the browser")
    parser.add_argument("--trace", required=True, type=Path)
    parser.add_argument("--page", required=True, type=Path)
    parser.add_argument("--pictures", type=Path)
    parser.add_argument("--text", required=True, type=Path, help="the trace as text")
    parser.add_argument("--rule", help="the name of a rule that must have found something")
    parser.add_argument("--holder", help="a part of what a holder of memory is called")
    options = parser.parse_args()
    passed = failed = 0
    with Browser(options.browser, options.profile) as browser:
        checks = Checks(browser, options)
        checks.take_pictures()
        for check in checks.all():
            sentence = check.__name__.replace("_", " ")
            try:
                check()
                passed += 1
                print(f"ok - {sentence}", flush=True)
            except (AssertionError, BrowserError) as error:
                failed += 1
                print(f"not ok - {sentence}: {error}", flush=True)
    print(f"page: {passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


main()
