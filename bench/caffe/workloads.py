"""The programs that are measured: those that users of Caffe run."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import nets
from tree import Caffe

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Sharing:
    """SYNCEDMEM_SHARE, and the most peak memory as a share of the original's: with small images (None: not measured), and with large."""

    setting: str
    most_quick: Optional[float]
    most: float
    # The most processor time of the first pass and of a settled one.
    times: Dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Workload:
    """One program, or several that run at once."""

    id: str
    name: str
    commands: List[List[str]]
    # The net whose model is saved before the run.
    saved: str = ""
    shares: Optional[Sharing] = None
    # The library's settings.
    settings: Tuple[Tuple[str, str], ...] = ()


def solver(net: str, iterations: int, saves: bool) -> str:
    """A training that prints the loss of each iteration. The seed makes all runs the same."""
    return f"""net: "{net}-train.prototxt"
base_lr: 0.001 lr_policy: "fixed" momentum: 0.9 weight_decay: 0.0005
display: 1 max_iter: {iterations} solver_mode: CPU random_seed: 1
snapshot_prefix: "model" snapshot_after_train: {str(saves).lower()}
"""


def prepare(folder: Path, quick: bool) -> None:
    """Writes nets and solvers. Quick: images of a quarter of the size, a tenth of the large model, and every model is saved."""
    nets.write_all(str(folder), 64 if quick else 224, 2048 if quick else 25088)
    for net, iterations in (("lenet", 60), ("alexnet", 4), ("vgg16", 2), ("googlenet", 2), ("resnet50", 2), ("googlenet-8", 2), ("resnet50-16", 2)):
        text = solver(net, 2 if quick else iterations, saves=quick or net == "lenet")
        (folder / f"{net}-solver.prototxt").write_text(text)
    for net in ("googlenet-8", "resnet50"):
        text = solver(net, 2, saves=True) + "test_iter: 1 test_interval: 1\n"
        (folder / f"{net}-tested-solver.prototxt").write_text(text)


def workloads(caffe: Caffe, quick: bool) -> List[Workload]:
    def time(net: str, iterations: int) -> List[List[str]]:
        # The phase is TEST, because dropout takes random numbers, which `caffe time` cannot seed.
        return [[program, "time", f"--model={net}-time.prototxt", "--phase=TEST", f"--iterations={1 if quick else iterations}"]]

    def train(net: str) -> List[List[str]]:
        return [[program, "train", f"--solver={net}-solver.prototxt"]]

    def python(what: str, count: int = 0) -> List[str]:
        number = [str(min(count, 3) if quick else count)] if count else []
        return [caffe.part("python"), str(HERE / "pycaffe.py"), what, *number]

    def passes(net: str) -> List[List[str]]:
        return [[caffe.part("python"), str(HERE / "pycaffe.py"), "passes", net, "2"]]

    def test(net: str) -> List[List[str]]:
        return [[program, "test", f"--model={net}-test.prototxt", f"--weights={net}-random.caffemodel", "--iterations=2"]]

    program = caffe.part("program")
    found = [
        Workload("time.lenet", "`caffe time`, LeNet, batch of 64", time("lenet", 50)),
        Workload("train.lenet", "`caffe train`, LeNet, batch of 64", train("lenet")),
        Workload("traced.lenet", "`caffe train`, LeNet, with a trace", train("lenet"), settings=(("SYNCEDMEM_TRACE", "trace"),)),
        Workload("time.alexnet", "`caffe time`, AlexNet, batch of 4", time("alexnet", 3)),
        Workload("train.alexnet", "`caffe train`, AlexNet, batch of 4", train("alexnet")),
        Workload("time.vgg16", "`caffe time`, VGG-16, one image", time("vgg16", 1)),
        Workload("train.vgg16", "`caffe train`, VGG-16, one image", train("vgg16")),
        Workload("images", "fully convolutional net, 50 sizes of images", [python("images", 50)]),
        Workload("detector", "detector, 50 images, two nets reshaped for each", [python("detector", 50)]),
        Workload("load", "model of 494 MB, read and run once", [python("load")], saved="large-random"),
        Workload("nets", "ten AlexNets, one after the other", [python("nets", 10)]),
        Workload("eight", "eight `caffe time` of AlexNet at once", time("alexnet", 1) * 8),
        *(
            Workload(f"share.{id}", f"pycaffe, {name}", passes(net), shares=Sharing("all", *bounds))
            for id, name, net, bounds in (
                ("googlenet", "GoogLeNet, batch of 10", "googlenet-10", (None, 0.51)),
                ("vgg16", "VGG-16, batch of 4", "vgg16-4", (None, 0.72)),
                ("resnet50.1", "ResNet-50, one image", "resnet50-1", (None, 0.53)),
                ("resnet50.4", "ResNet-50, batch of 4", "resnet50-4", (None, 0.29)),
                ("resnet50.16", "ResNet-50, batch of 16", "resnet50-16", (0.57, 0.15)),
            )
        ),
        *(
            Workload(f"share.test.{net}", f"`caffe test`, {name}, batch of 16", test(net), f"{net}-random", Sharing("all", *bounds))
            for net, name, bounds in (("googlenet", "GoogLeNet", (None, 0.40)), ("resnet50", "ResNet-50", (0.73, 0.12)))
        ),
        *(
            Workload(f"share.train.{net}{id}", f"`caffe train`, {name}, {setting}", train(net), shares=Sharing(setting, *bounds))
            for net, id, name, setting, bounds in (
                ("googlenet-8", "", "GoogLeNet, batch of 8", "gradients", (None, 0.62)),
                ("resnet50", "", "ResNet-50, batch of 4", "gradients", (0.95, 0.76)),
                ("resnet50-16", ".all", "ResNet-50, batch of 16", "all", (None, 0.52)),
                ("googlenet-8", ".parked", "GoogLeNet, batch of 8", "parked", (None, 0.50)),
                ("resnet50", ".parked", "ResNet-50, batch of 4", "parked", (0.90, 0.38)),
                ("resnet50-16", ".parked", "ResNet-50, batch of 16", "parked", (None, 0.28)),
                ("googlenet-8-tested", ".parked", "GoogLeNet, batch of 8, with a test net", "parked", (None, 0.39)),
                ("resnet50-tested", ".parked", "ResNet-50, batch of 4, with a test net", "parked", (None, 0.30)),
            )
        ),
        Workload(
            "share.time.resnet50",
            "pycaffe, ResNet-50, batch of 4, five passes",
            [[caffe.part("python"), str(HERE / "pycaffe.py"), "timed", "resnet50-4", "5"]],
            shares=Sharing("all", None, 0.29, {"first": 0.65, "settled": 1.02}),
        ),
        Workload(
            "share.trained.resnet50",
            "pycaffe, training of ResNet-50, batch of 4, five iterations",
            [[caffe.part("python"), str(HERE / "pycaffe.py"), "trained", "resnet50", "5"]],
            shares=Sharing("parked", None, 0.42, {"first": 0.65, "settled": 1.10}),
        ),
    ]
    return [one for one in found if not (quick and one.shares and one.shares.most_quick is None)]
