"""Checks of the first screen of `syncedmem run`, for LeNet, AlexNet and VGG-16, against three independent counts: pycaffe's shapes, a
count in front of the original Caffe (counts.c), also for one more item of the batch, and the kernel's peak."""

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Dict, List, Tuple

from checking import Checks
from tree import Caffe

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "bench/caffe"))
import nets  # noqa: E402

PASSES = "import caffe; net = caffe.Net('{}', caffe.TRAIN); net.forward(); net.backward()"
SHAPES = (
    "import caffe, json; net = caffe.Net('{}', caffe.TRAIN); print(json.dumps([{{name: list(blob.shape) for name, blob in "
    "net.blobs.items()}}, [list(blob.shape) for blobs in net.params.values() for blob in blobs]]))"
)
SOLVER = 'net: "{}" base_lr: 0.001 lr_policy: "fixed" momentum: 0.9 max_iter: 2 random_seed: 1 snapshot_after_train: false\n'
ROOM = 64 << 30
FLOAT = 4
# More than Python or the command need for themselves, in bytes.
OTHERS_COUNT = 200 << 20
# Pixels a side of the images of AlexNet and VGG-16 in the gate; published are 224.
QUICK = 48


def in_units(size: int) -> str:
    """A number of bytes as the report writes it."""
    if size < 1024:
        return f"{size} B"
    power = max(power for power in range(1, 5) if size >> (10 * power))
    tenths = ((size * 10) + (1 << (10 * power - 1))) >> (10 * power)
    if tenths == 10240:
        power, tenths = power + 1, 10
    return f"{tenths // 10}.{tenths % 10} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[power]}"


def bytes_of(text: str) -> float:
    number, unit = text.split(" ")
    return float(number) * 1024 ** ("B", "KiB", "MiB", "GiB", "TiB").index(unit)


def programs(caffe: Caffe, folder: Path, name: str) -> Dict[str, List[str]]:
    """What is run: with the net of that name in `folder`."""
    (folder / f"{name}-solver.prototxt").write_text(SOLVER.format(f"{name}-train.prototxt"))
    return {
        "train": [caffe.part("program"), "train", f"--solver={name}-solver.prototxt"],
        "time": [caffe.part("program"), "time", f"--model={name}-time.prototxt", "--iterations=1"],
        "pycaffe": [caffe.part("python"), "-c", PASSES.format(f"{name}-train.prototxt")],
    }


def counting(folder: Path) -> Path:
    """The library that counts, built once."""
    counts = folder / "counts.so"
    if not counts.exists():
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", counts, HERE / "counts.c", "-ldl"], check=True)
    return counts


def counted(caffe: Caffe, folder: Path, program: List[str]) -> int:
    """The most bytes that objects held, by a count in front of the original."""
    counts, file = counting(folder), folder / "counts"
    file.unlink(missing_ok=True)
    # Python loads libcaffe for itself, where the count would not find it behind it.
    preload = f"{counts}:{caffe.part('libcaffe')}"
    run = caffe.run(program, folder, settings={"COUNTS": str(file), "LD_PRELOAD": preload})
    assert run.status == 0, f"the original {run.ending()}"
    found = re.search(r" peak=(\d+)$", file.read_text(), re.M)
    assert found, file.read_text()
    return int(found[1])


@dataclass
class Needs:
    """Bytes by role for a forward and a backward pass, and the shapes that they come from."""

    data: int
    weights: int
    activations: int
    gradients: int
    shapes: Dict[str, List[int]]
    one_more: int

    @property
    def batch(self) -> int:
        return self.shapes["data"][0]


def needs(checks: Checks, folder: Path, net: str, one_more: int) -> Needs:
    """What a net needs by its shapes in pycaffe."""
    run = checks.caffe.run([checks.caffe.part("python"), "-c", SHAPES.format(net)], folder)
    assert run.status == 0, f"pycaffe {run.ending()}"
    shapes, parameters = json.loads(run.out)
    sizes = {name: FLOAT * prod(shape) for name, shape in shapes.items()}
    weights = FLOAT * sum(map(prod, parameters))
    inputs = {name: size for name, size in sizes.items() if re.match("(data|label)", name)}
    # Each use of a blob that has several has its own gradient, and no data.
    splits = sum(size for name, size in sizes.items() if "_split_" in name and name not in inputs)
    activations = sum(sizes.values()) - sum(inputs.values()) - splits
    # The first convolution's backward pass asks for the gradient of the images, although nothing needs it.
    gradients = activations + splits + sizes["data"]
    return Needs(sizes["data"] + sizes["label"], weights, activations, gradients, shapes, one_more)


class Screen:
    """The first screen of a run, taken apart."""

    def __init__(self, text: str) -> None:
        begin = text.find("libsyncedmem: memory of ")
        assert begin >= 0, f"there is no report: {text[-400:]}"
        self.text = text[begin:]
        parts = ("\npeak ", " at the peak, by role\n", " at the peak, by holder\n", "\nat batch ", " of the run", "worth doing")
        places = [self.text.find(part) for part in parts]
        assert -1 not in places and places == sorted(places), f"{places}: {self.text}"
        size = r"([\d.]+ [KMGT]?i?B)"
        self.peak, self.process, self.others = self.find(rf"^peak {size} of blobs; the process {size}, {size} of it not in blobs$")
        batch, self.one_more, self.fitting = self.find(
            rf"^at batch (\d+), one more item costs {size}; 64\.0 GiB would hold batch (\d+)$"
        )
        self.batch = int(batch)
        roles, holders = (re.findall(rf"^ +{size} +([\d.]+) %  (.*)$", part, re.M) for part in self.text.split("by holder\n"))
        self.roles = {role: bytes for bytes, _, role in roles}
        self.percent = {role: float(part) for _, part, role in roles}
        self.holders = {holder.partition(", ")[0]: bytes for bytes, _, holder in holders}

    def find(self, pattern: str) -> Tuple[str, ...]:
        found = re.search(pattern, self.text, re.M)
        assert found, f"no line fits {pattern}: {self.text}"
        return found.groups()

    def agrees(self, need: Needs, peak: int, trains: bool) -> None:
        """Checks it against the shapes and the count."""
        assert self.peak == in_units(peak), f"counted were {in_units(peak)}: {self.text}"
        expected = {
            "data": need.data,
            "weights": need.weights,
            "gradients of weights": need.weights,
            "activations": need.activations,
            "gradients of activations": need.gradients,
        }
        if trains:
            expected["solver history"] = need.weights
        for role, size in expected.items():
            assert self.roles.get(role) == in_units(size), f"{role}: {size} bytes by the shapes, {self.roles}"
        assert self.percent.get("without a layer's name", 0) <= 5, self.roles
        for holder, size in self.holders.items():
            name = holder.split(" ")[0]
            if name in need.shapes and re.fullmatch(r"\S+ (output|data)( gradient)?", holder):
                assert size == in_units(FLOAT * prod(need.shapes[name])), f"{holder}: {size}, {need.shapes[name]}"
        assert len(self.holders) == 11, f"ten holders and the others: {self.holders}"
        assert (self.batch, self.one_more) == (need.batch, in_units(need.one_more)), f"{need.one_more} bytes: {self.text}"
        # As many items fit as fit beside what does not grow. The screen's figures are rounded.
        fitting = (ROOM - bytes_of(self.process)) / need.one_more + need.batch
        assert abs(int(self.fitting) / fitting - 1) < 0.01, f"{fitting} fit: {self.text}"


def check(checks: Checks, folder: Path, name: str, kind: str) -> Screen:
    """Checks the screen of one program."""
    program = programs(checks.caffe, folder, name)[kind]
    net = f"{name}-{'time' if kind == 'time' else 'train'}.prototxt"
    peak = counted(checks.caffe, folder, program)
    more = re.sub(r"(shape { dim: )(\d+)", lambda found: f"{found[1]}{int(found[2]) + 1}", (folder / net).read_text())
    (folder / f"more-{net}").write_text(more)
    one_more = counted(checks.caffe, folder, programs(checks.caffe, folder, f"more-{name}")[kind]) - peak
    ours = checks.syncedmem("run", "--fit=64G", "--", *program, folder=folder)
    assert ours.status == 0, f"syncedmem run {ours.ending()}"
    screen = Screen(ours.err)
    screen.agrees(needs(checks, folder, net, one_more), peak, trains=kind == "train")
    # The kernel's count of a child begins with the memory of its parent, which is this Python, and covers the command. So it is the
    # program's own count only where that is larger. The screen says it with one decimal.
    process = bytes_of(screen.process)
    at_least = ours.peak_bytes * 0.98 if process > OTHERS_COUNT else bytes_of(screen.peak)
    assert at_least < process < ours.peak_bytes * 1.02, f"the kernel counted {ours.peak_bytes}: {screen.text}"
    return screen


def write(folder: Path, image: int) -> None:
    """Writes the nets, for images of about so many pixels a side."""
    nets.write_all(str(folder), image, 64)
