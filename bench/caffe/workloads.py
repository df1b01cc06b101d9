"""What is measured: programs that users of Caffe run."""

from dataclasses import dataclass
from pathlib import Path
from typing import List

import nets
from tree import Caffe

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Workload:
    """One program, or several that run at once."""

    id: str
    name: str
    commands: List[List[str]]


def solver(net: str, iterations: int, saves: bool) -> str:
    """A training that prints the loss of each iteration. The seed makes two runs the same run."""
    return f"""net: "{net}-train.prototxt"
base_lr: 0.001 lr_policy: "fixed" momentum: 0.9 weight_decay: 0.0005
display: 1 max_iter: {iterations} solver_mode: CPU random_seed: 1
snapshot_prefix: "model" snapshot_after_train: {str(saves).lower()}
"""


def prepare(folder: Path, quick: bool) -> None:
    """Writes nets and solvers. Quick: images of a quarter of the size, a large model of a tenth, and every model is saved."""
    nets.write_all(str(folder), 64 if quick else 224, 2048 if quick else 25088)
    for net, iterations in (("lenet", 60), ("alexnet", 4), ("vgg16", 2)):
        text = solver(net, 2 if quick else iterations, saves=quick or net == "lenet")
        (folder / f"{net}-solver.prototxt").write_text(text)


def workloads(caffe: Caffe, quick: bool) -> List[Workload]:
    def time(net: str, iterations: int) -> List[List[str]]:
        # In the phase TEST, because dropout takes random numbers, which `caffe time` cannot seed.
        return [[program, "time", f"--model={net}-time.prototxt", "--phase=TEST", f"--iterations={1 if quick else iterations}"]]

    def train(net: str) -> List[List[str]]:
        return [[program, "train", f"--solver={net}-solver.prototxt"]]

    def python(what: str, count: int = 0) -> List[str]:
        number = [str(min(count, 3) if quick else count)] if count else []
        return [caffe.part("python"), str(HERE / "pycaffe.py"), what, *number]

    program = caffe.part("program")
    return [
        Workload("time.lenet", "`caffe time`, LeNet, batch of 64", time("lenet", 50)),
        Workload("train.lenet", "`caffe train`, LeNet, batch of 64", train("lenet")),
        Workload("time.alexnet", "`caffe time`, AlexNet, batch of 4", time("alexnet", 3)),
        Workload("train.alexnet", "`caffe train`, AlexNet, batch of 4", train("alexnet")),
        Workload("time.vgg16", "`caffe time`, VGG-16, one image", time("vgg16", 1)),
        Workload("train.vgg16", "`caffe train`, VGG-16, one image", train("vgg16")),
        Workload("images", "fully convolutional net, 50 sizes of images", [python("images", 50)]),
        Workload("detector", "detector, 50 images, two nets reshaped for each", [python("detector", 50)]),
        Workload("load", "model of 494 MB, read and run once", [python("load")]),
        Workload("nets", "ten AlexNets, one after the other", [python("nets", 10)]),
        Workload("eight", "eight `caffe time` of AlexNet at once", time("alexnet", 1) * 8),
    ]
