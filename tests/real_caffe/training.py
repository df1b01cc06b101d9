"""Trains the small net with Caffe's own program and reads what came out of it."""

import hashlib
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Callable, Optional

import images
from tree import Caffe, Finished

HERE = Path(__file__).resolve().parent
ITERATIONS = 200


@dataclass(frozen=True)
class Trained:
    """A training that came to its end."""

    losses: list[tuple[int, str]]  # iteration and loss, as Caffe printed it
    accuracy: str  # on the images it was not trained on, at the end
    files: dict[str, str]  # name of each file it saved, and its sha256
    run: Finished

    @property
    def model(self) -> str:
        """The sha256 of the trained weights."""
        return next(digest for name, digest in self.files.items() if name.endswith(".caffemodel"))


def prepare(folder: Path, iterations: int = ITERATIONS) -> None:
    """Puts net, solver and images into `folder`."""
    shutil.copy(HERE / "net.prototxt", folder)
    solver = (HERE / "solver.prototxt").read_text()
    every = max(1, iterations // 10)
    solver += f"max_iter: {iterations}\ndisplay: {every}\ntest_interval: {iterations}\n"
    (folder / "solver.prototxt").write_text(solver)
    images.write(folder)


def train(caffe: Caffe, prepared: Path, keep: Optional[Path] = None, **how: Any) -> Trained:
    """Trains as `Caffe.run` runs a program, in a fresh folder over the prepared one. The folder `keep` gets the saved files."""
    program = [caffe.part("program"), "train", "--solver=solver.prototxt"]
    return read_trained(prepared, partial(caffe.run, program, **how), keep)


def read_trained(prepared: Path, start: Callable[[Path], Finished], keep: Optional[Path] = None) -> Trained:
    """Runs a training by `start` in a fresh folder over the prepared one; AssertionError if Caffe does not finish. The folder `keep` gets the
    saved files as demo.*."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for item in prepared.iterdir():
            (folder / item.name).symlink_to(item)
        run = start(folder)
        assert run.status == 0, f"caffe train {run.ending()}"
        saved = sorted(folder.glob("model_iter_*"))
        assert len(saved) == 2, f"caffe train saved {len(saved)} files, not a model and a solver state"
        if keep:
            keep.mkdir(exist_ok=True)
            for path in saved:
                shutil.copy(path, keep / f"demo{path.suffix}")
        losses = re.findall(r"Iteration (\d+)(?: \(.*\))?, loss = (\S+)", run.err)
        accuracies = re.findall(r"Test net output #\d+: accuracy = (\S+)", run.err)
        assert losses and accuracies, f"caffe train printed no losses: it {run.ending()}"
        return Trained(
            [(int(iteration), loss) for iteration, loss in losses],
            accuracies[-1],
            {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in saved},
            run,
        )
