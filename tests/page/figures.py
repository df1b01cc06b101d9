"""Checks of the figures that a reader can use: stacks of memory over time, and flame graphs."""

import re
from collections import Counter
from typing import Any

from browser import Browser
from held import Held, Life

WIDE, NARROW = 1280, 360
UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
OTHERS, SMALL = "all others", "smaller ones"
ANSWERS = """[...document.querySelectorAll('.answer .kind')].map((kind) => {
    const rows = (table) => [...(table?.tBodies[0].rows ?? [])].map((row) => [row.cells[0].textContent, Number(row.cells[1].dataset.v)]);
    const tables = [...kind.querySelectorAll('table')];
    return {process: Number(kind.closest('.process').dataset.process), kind: kind.classList[1], rows: rows(tables.at(-1)),
        types: rows(tables.find((table) => table.tHead.textContent.startsWith('type of layer')))};})"""
STACKS = """[...document.querySelectorAll('.stacks .stack')].map((stack) => ({
    process: Number(stack.closest('.process').dataset.process), kind: stack.dataset.kind, width: Number(stack.dataset.width),
    by: stack.classList[1].slice(3), columns: stack.querySelector('svg').viewBox.baseVal.width,
    outlines: [...stack.querySelectorAll('path.area')].map((path) => path.getAttribute('d')).reverse(),
    titles: [...stack.querySelectorAll('path.area title')].map((title) => title.textContent).reverse(),
    when: stack.querySelector('.when').textContent,
    rows: [...stack.querySelectorAll('tbody tr')].map((row) => [row.cells[0].textContent, Number(row.cells[1].dataset.v)])}))"""
PASSES = """[...document.querySelectorAll('.passes')].map((figure) => ({
    process: Number(figure.closest('.process').dataset.process), columns: figure.querySelector('svg').viewBox.baseVal.width,
    outlines: [...figure.querySelectorAll('path.area')].map((path) => path.getAttribute('d')).reverse(),
    titles: [...figure.querySelectorAll('path.area title')].map((title) => title.textContent).reverse()}))"""
ARENAS = """[...document.querySelectorAll('.arena')].map((figure) => ({
    process: Number(figure.closest('.process').dataset.process), kind: figure.querySelector('[data-fact]').dataset.fact.slice(6),
    columns: figure.querySelector('svg').viewBox.baseVal.width, whole: figure.querySelector('path.area').getAttribute('d'),
    rows: [...figure.querySelectorAll('details tbody tr')].map((row) => Number(row.cells[2].dataset.v))}))"""
WAITED = """[...document.querySelectorAll('.waited')].map((figure) => [Number(figure.closest('.process').dataset.process),
    figure.querySelector('figcaption p').textContent, [...figure.querySelectorAll('tbody tr')].map((row) =>
        [row.cells[0].textContent, ...[...row.cells].slice(1).map((cell) => Number(cell.dataset.v))])])"""
FLAMES = """[...document.querySelectorAll('.flame')].map((flame) => {
    const tree = (item) => ({text: item.querySelector('.frame').textContent.replace(/ at \\S+:\\d+$/, ''), bytes: Number(item.querySelector('.frame').dataset.v),
        below: [...item.querySelectorAll(':scope > ul > li')].filter((li) => li.querySelector('.frame')).map(tree)});
    return {process: Number(flame.closest('.process').dataset.process), kind: flame.dataset.kind,
        tree: tree(flame.querySelector('li'))};})"""


def steps(outline: str, columns: int) -> list[int]:
    """The value of each column of an outline: `M0 0H3V100H7V0Z`."""
    values, column, value = [], 0, 0
    for step in outline.removeprefix("M0 0H").removesuffix("Z").split("H"):
        at, after = map(int, step.split("V"))
        values += [value] * (at - column)
        column, value = at, after
    assert column == columns and value == 0, f"an outline ends at {column}, {value}"
    return values


def is_shown(number: str, text: str) -> bool:
    """Whether a text is the number, in readable units with one decimal: at most half a tenth of the unit away."""
    amount, _, unit = text.replace(",", "").partition(" ")
    return abs(float(amount) * UNITS.get(unit, 1) - int(number)) <= UNITS.get(unit, 0) * 0.0501


def is_near(text: str, height: float, top: float) -> bool:
    """Whether a mark is at the height of its text, but for a hundredth of the chart."""
    amount, _, unit = text.partition(" ")
    return abs(float(amount) * UNITS[unit] - height) <= top / 100


class Figures:
    """The checks, for a class that has a browser, a page and what is expected."""

    browser: Browser
    page: Any
    expected: dict[int, Any]

    def _kinds(self) -> set[tuple[int, str]]:
        """Each process, with the kinds of memory that it held."""
        return {(process, life.kind) for process, each in self.expected.items() for life in each.held.lives}

    def _stack(self, stack: dict[str, Any]) -> list[Counter[str]]:
        held: Held = self.expected[stack["process"]].held
        by = {"role": Life.role, "type": Life.type, "layer": Life.layer}[stack["by"]]
        return held.stack(stack["kind"], by, stack["width"], stack["columns"])

    def the_answer_stands_first(self) -> None:
        """The peak, and who held it: by role, by type of layer and the ten largest; then the advice."""
        self.browser.open(self.page, NARROW)
        heads = self.browser.value("[...document.querySelectorAll('.process')].map((e) => [...e.querySelectorAll('h3')].map((h) => h.innerText))")
        assert all(each[:2] == ["In short", "Advice"] for each in heads), f"{heads}"
        answers = self.browser.value(ANSWERS)
        assert {(answer["process"], answer["kind"]) for answer in answers} == self._kinds(), "kinds of memory"
        for answer in answers:
            right = self.expected[answer["process"]].held.at_peak(answer["kind"], lambda life: life.name or life.place)
            shown, others = answer["rows"][:10], answer["rows"][10:]
            assert [size for _, size in shown] == sorted(right.values(), reverse=True)[:10], f"{shown}, not {right}"
            named = [(re.sub(r", \d+ blocks$", "", name), size) for name, size in shown]
            assert all(right[name] == size for name, size in named), f"{shown}, not {right}"
            rest = right.total() - sum(size for _, size in shown)
            assert [size for _, size in others] == [rest] * bool(rest), f"{others}, not {rest}"
            held = self.expected[answer["process"]].held
            types = held.at_peak(answer["kind"], Life.type) if held.types else Counter()
            told = {words.split(",")[0]: size for words, size in answer["types"][:10]}
            assert told == {name: types[name] for name in told}, f"{told}, not {types}"
            assert sum(size for _, size in answer["types"]) == types.total(), f"{answer['types']}, not {types}"

    def the_stacks_show_who_held_what(self) -> None:
        """Each band in each column, and the tables at the peak."""
        self.browser.open(self.page, WIDE)
        stacks = self.browser.value(STACKS)
        assert {(stack["process"], stack["kind"]) for stack in stacks} == self._kinds(), "kinds of memory"
        for stack in stacks:
            right, below = self._stack(stack), [0] * stack["columns"]
            names = [name for name, _ in stack["rows"]]
            assert names == stack["titles"], f"{names}, {stack['titles']}"
            for name, outline in zip(names, stack["outlines"], strict=True):
                top = steps(outline, stack["columns"])
                band = [column.total() - sum(column[n] for n in names) if name == OTHERS else column[name] for column in right]
                assert [above - under for above, under in zip(top, below)] == band, f"{stack['kind']} of {name}"
                below = top
            assert below == [column.total() for column in right], f"{stack['kind']}: the sum"
            largest = max(right, key=Counter.total)
            shown = {name: size for name, size in stack["rows"] if name != OTHERS}
            assert shown == {name: largest[name] for name in shown}, f"at the peak: {shown}"
            assert sum(size for _, size in stack["rows"]) == largest.total(), "the table's sum"

    def passes_fill_the_time_that_they_took(self) -> None:
        """Each band, in all columns together; a process without passes has no such figure."""
        self.browser.open(self.page, WIDE)
        figures = {figure["process"]: figure for figure in self.browser.value(PASSES)}
        assert set(figures) == {process for process, each in self.expected.items() if each.passes}, f"{set(figures)}"
        for process, figure in figures.items():
            below, shown = 0, {}
            for name, outline in zip(figure["titles"], figure["outlines"], strict=True):
                top = sum(steps(outline, figure["columns"]))
                shown[name], below = top - below, top
            assert shown == self.expected[process].passes, f"{shown}, not {self.expected[process].passes}"

    def shared_memory_is_shown_by_layer(self) -> None:
        """What was in use of the arena in each step; a process that shares nothing has no such figure."""
        self.browser.open(self.page, WIDE)
        figures = self.browser.value(ARENAS)
        shared = {(process, kind) for process, each in self.expected.items() for step in each.steps.values() for kind in +step}
        assert {(figure["process"], figure["kind"]) for figure in figures} == shared, f"{shared}"
        for figure in figures:
            right = sorted(step[figure["kind"]] for step in self.expected[figure["process"]].steps.values())
            assert sorted(figure["rows"]) == right, f"{figure['rows']}, not {right}"
            assert steps(figure["whole"], figure["columns"]) == figure["rows"], "the chart and its table differ"

    def what_waited_is_shown_as_what(self) -> None:
        """A row for each way, whose numbers add up to the sentence's; a process in which nothing waited has no such figure."""
        self.browser.open(self.page, WIDE)
        shown = self.browser.value(WAITED)
        waited = {process for process, each in self.expected.items() if any(fact.startswith("waited.") for fact in +each.facts)}
        assert {process for process, *_ in shown} == waited, f"{shown}"
        for _, sentence, rows in shown:
            whole, kept = re.findall(r"[\d.]+ [KMGT]?i?B", sentence)[:2]
            assert is_shown(sum(row[2] for row in rows), whole) and is_shown(sum(row[3] for row in rows), kept), f"{sentence}: {rows}"
            assert sentence.startswith(f"{whole} waited as {kept}: {rows[0][1]} "), f"{sentence}: {rows}"

    def a_brush_selects_a_time(self) -> None:
        """By the two sliders, with the keyboard, and by a pointer on a chart, which also shows the values under it."""
        self.browser.open(self.page, WIDE)
        first = self.browser.value(STACKS)[0]
        columns = first["columns"]
        for begin, end in [(columns // 4, columns // 2), (0, 0), (columns - 1, columns - 1), (columns // 2, columns // 3)]:
            ends = ", ".join(map(str, [begin, end]))
            self.browser.value(
                f"""[{ends}].forEach((value, n) => {{ const input = document.querySelectorAll('.stacks .ends input')[n];
                input.value = value; input.dispatchEvent(new Event('input')); }})"""
            )
            stack = self.browser.value(STACKS)[0]
            right = max(self._stack(stack)[min(begin, end) : max(begin, end) + 1], key=Counter.total)
            shown = dict(stack["rows"])
            assert sum(shown.values()) == right.total(), f"{begin} to {end}: {shown}, not {right}"
            assert all(right[name] == size for name, size in shown.items() if name != OTHERS), f"{shown}, not {right}"
            cells = "[...document.querySelectorAll('.stacks td:nth-child(2)')].map((cell) => [cell.dataset.v, cell.textContent])"
            wrong = [cell for cell in self.browser.value(cells) if not is_shown(*cell)]
            assert not wrong, f"{wrong}"
        self.browser.value("document.querySelector('.stacks .ends input').focus()")
        before = self.browser.value("document.activeElement.value")
        self.browser.press("ArrowLeft")
        assert int(self.browser.value("document.activeElement.value")) == int(before) - 1, "a key does not move an end"
        box = self.browser.value(
            """(() => { const chart = document.querySelector('.stacks svg'); chart.scrollIntoView({block: 'center'});
            const {x, y, width, height} = chart.getBoundingClientRect(); return [x, y, width, height]; })()"""
        )
        x, y, width, height = box
        self.browser.drag((x + width * 0.25, y + height / 2), (x + width * 0.75, y + height / 2))
        ends = self.browser.value("[...document.querySelectorAll('.stacks .ends input')].slice(0, 2).map((input) => Number(input.value))")
        assert ends == [columns // 4, columns * 3 // 4], f"a drag selects {ends} of {columns}"
        selected = self.browser.value(STACKS)[0]["when"]
        assert " to " in selected, "the table does not say the time"
        event = "document.querySelector('.stacks svg').dispatchEvent(new PointerEvent('%s', {clientX: %f}))"
        self.browser.value(event % ("pointermove", x + width / 2))
        assert " to " in self.browser.value(STACKS)[0]["when"] != selected, "the table is not about the time under the pointer"
        self.browser.value(event % ("pointerleave", 0))
        assert self.browser.value(STACKS)[0]["when"] == selected, "the selection is gone with the pointer"

    def a_switch_divides_memory_by_role_type_or_layer(self) -> None:
        """One stack of each kind is there to see."""
        self.browser.open(self.page, NARROW)
        visible = "[...document.querySelectorAll('.stacks .stack')].filter((stack) => stack.checkVisibility()).map((stack) => stack.className)"
        switches = self.browser.value("[...new Set([...document.querySelectorAll('.by input')].map((input) => input.value))]")
        has_types = any(each.held.types for each in self.expected.values())
        assert not switches or switches == (["role", "type", "layer"] if has_types else ["role", "layer"]), f"{switches}"
        for by in switches:
            self.browser.value(f"document.querySelectorAll('.by input[value={by}]').forEach((input) => input.click())")
            shown = self.browser.value(visible)
            assert shown and all(each == f"stack by-{by}" for each in shown), f"{by}: {shown}"
        assert switches or self.browser.value(visible), "no stack is visible"

    def the_flame_graphs_show_who_asked_for_it(self) -> None:
        """Each frame's bytes at the peak, and those of the frames that are too small."""
        self.browser.open(self.page, WIDE)
        for flame in self.browser.value(FLAMES):
            held: Held = self.expected[flame["process"]].held
            right: Counter[tuple[str, ...]] = Counter()
            for frames, size in held.at_peak(flame["kind"], lambda life: tuple(life.frames())).items():
                for depth in range(len(frames) + 1):
                    right[frames[:depth]] += size
            assert right[("an unknown place",)] < right[()] / 100, f"{right}"
            self._frame(flame["tree"], (), right)

    def _frame(self, frame: dict[str, Any], path: tuple[str, ...], right: Counter[tuple[str, ...]]) -> None:
        assert frame["bytes"] == right[path] > 0, f"{path}: {frame['bytes']}, not {right[path]}"
        below = {path + (each["text"],): each for each in frame["below"] if each["text"] != SMALL}
        small = sum(each["bytes"] for each in frame["below"] if each["text"] == SMALL)
        left_out = [size for other, size in right.items() if other[:-1] == path and other and other not in below]
        assert sum(left_out) == small, f"below {path}: {small} in small frames, not {left_out}"
        assert not left_out or max(left_out) < right[()] / 16, f"below {path} a frame of {max(left_out)} is missing"
        for deeper, each in below.items():
            self._frame(each, deeper, right)

    def every_frame_that_is_there_can_be_read_on_a_narrow_screen(self) -> None:
        """A flame graph has room for a name in each of its frames, and for its bytes."""
        self.browser.open(self.page, NARROW)
        frames = """[...document.querySelectorAll('.flame .frame')].filter((frame) => frame.checkVisibility()).map(
            (frame) => [frame.textContent, frame.getBoundingClientRect().width, getComputedStyle(frame, '::before').content])"""
        shown = self.browser.value(frames)
        assert len(shown) > 2, f"{shown}"
        wrong = [frame for frame in shown if frame[1] < 200 or "B" not in frame[2]]
        assert not wrong, f"{wrong[:5]}"

    def every_chart_has_marks_that_lie_free(self) -> None:
        """Several at its side, at the heights of what they say."""
        marks = """[...document.querySelectorAll('.plot')].filter((plot) => plot.checkVisibility()).map((plot) => {
            plot.scrollIntoView({block: 'center'});
            const top = plot.querySelector('svg').viewBox.baseVal.height;
            return [...plot.querySelectorAll('.y b')].map((mark) => {
                const {x, y, width, height} = mark.getBoundingClientRect();
                const bare = document.elementFromPoint(x + width / 2, y + height / 2) === mark && x >= 0;
                return [mark.textContent, (parseFloat(mark.parentElement.style.bottom) / 100) * top, top, bare];
            });
        })"""
        for width in (NARROW, WIDE):
            self.browser.open(self.page, width)
            charts = self.browser.value(marks)
            assert charts, "there are no charts"
            for chart in charts:
                assert len(chart) >= 2, f"{width}: {chart}"
                assert all(bare for *_, bare in chart), f"{width}: covered: {chart}"
                wrong = [text for text, height, top, _ in chart if "/s" not in text and text != "–" and not is_near(text, height, top)]
                assert not wrong, f"{width}: {wrong} of {chart}"

    def a_flame_graph_zooms(self) -> None:
        """To a frame that is pressed, and back, by a key too."""
        self.browser.open(self.page, NARROW)
        last = "[...document.querySelectorAll('.flame')[0].querySelectorAll('button.frame')].filter((each) => each.checkVisibility()).at(-1)"
        self.browser.value(f"window.frame = {last}; frame.focus()")
        share = "frame.getBoundingClientRect().width / frame.closest('.flame').getBoundingClientRect().width"
        assert self.browser.value("document.activeElement === frame"), "a frame has no focus"
        before = self.browser.value(share)
        self.browser.press("Enter")
        assert self.browser.value(share) > 0.99, f"the frame is {self.browser.value(share)} wide"
        while self.browser.value("document.querySelector('.flame [aria-pressed]') !== null"):
            self.browser.value("document.querySelector('.flame [aria-pressed]').click()")
        assert self.browser.value(share) == before, "the graph is not as it was"
