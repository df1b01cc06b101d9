"""Run by pycaffe: random sequences of what programs do with nets and solvers, and a digest of all that they may read.

usage: random_sequences.py FIRST COUNT

Nets are made, reshaped, run in parts, trained, saved, given each other's weights, and deleted in any order, in one thread or in three; layers
throw, and layers make nets of their own. Each seed prints one line.
"""

from __future__ import annotations

import gc
import hashlib
import os
import random
import sys
import threading
from typing import Callable

import caffe
import numpy
from pycaffe_layers import INPUTS, digest, net, nets
from random_nets import Maker, random_net

STEPS = 24
MOST_NETS = 5
LSTM = nets()["LSTM"]


class Thrower(caffe.Layer):  # type: ignore[misc] # pycaffe has no types
    """Passes its input on, or throws."""

    throws = threading.local()

    def setup(self, bottom: list, top: list) -> None:
        pass

    def reshape(self, bottom: list, top: list) -> None:
        top[0].reshape(*bottom[0].data.shape)

    def forward(self, bottom: list, top: list) -> None:
        if getattr(Thrower.throws, "now", False):
            raise ValueError("thrown")
        top[0].data[...] = bottom[0].data

    def backward(self, top: list, propagate_down: list, bottom: list) -> None:
        bottom[0].diff[...] = top[0].diff


class Deployed(Maker):
    """A net with an input that can be reshaped, and without losses."""

    def text(self) -> str:
        for number in range(self.chance.randint(3, 12)):
            if number == 2 and self.chance.random() < 0.3:
                self.add("Python", [self.pick()], [(3, 8)], 'python_param { module: "random_sequences" layer: "Thrower" }')
                break
            self.step()
        self.add("Convolution", [self.blobs[0]], [(4, 8)], "convolution_param { num_output: 2 kernel_size: 1 }")
        return 'layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 2 dim: 3 dim: 8 dim: 8 } } }\n' + net(*self.layers)


class Made:
    """A net, or a solver with its nets."""

    def __init__(self, kind: str, made: object, text: str = "") -> None:
        self.kind, self.made, self.text = kind, made, text


class Sequence:
    def __init__(self, seed: int) -> None:
        self.seed, self.chance = seed, random.Random(seed)
        self.nets: list[Made] = []
        self.digests: list[str] = []

    def read(self, *arrays: numpy.ndarray) -> None:
        self.digests += [digest(array) for array in arrays]

    def read_net(self, made: object, gradients: bool = False) -> None:
        for blobs in made.params.values():
            self.read(*(blob.data for blob in blobs), *(blob.diff for blob in blobs if gradients))

    def file(self, text: str) -> str:
        path = f"sequence-{self.seed}.prototxt"
        with open(path, "w") as out:
            out.write(text)
        return path

    def make(self) -> None:
        kind = self.chance.choice(["deployed", "deployed", "train", "test", "lstm", "solver"])
        number = self.chance.randrange(10**6)
        if kind == "deployed":
            text = Deployed(number).text()
            made = caffe.Net(self.file(text), caffe.TEST)
        elif kind == "lstm":
            text = LSTM
            made = caffe.Net(self.file(text), self.chance.choice([caffe.TEST, caffe.TRAIN]))
        else:
            text = random_net(number)
            path = self.file(text)
            if kind == "solver":
                made = self.solver(path)
            else:
                made = caffe.Net(path, caffe.TRAIN if kind == "train" else caffe.TEST)
        self.nets.append(Made(kind, made, text))

    def solver(self, path: str) -> object:
        kind = self.chance.choice(["SGD", "Adam", "AdaDelta", "Nesterov"])
        rates = "" if kind == "AdaDelta" else "momentum: 0.9 "
        more = "test_iter: 1 test_interval: 2 " if self.chance.random() < 0.5 else ""
        solver = path.replace("prototxt", "solver")
        with open(solver, "w") as out:
            tests = f'test_net: "{path}" ' if more else ""
            out.write(f'train_net: "{path}" {tests}{more}base_lr: 0.001 {rates}lr_policy: "fixed" type: "{kind}" snapshot_prefix: "{path}" display: 0')
        return caffe.get_solver(solver)

    def use(self, one: Made) -> None:
        if one.kind == "solver":
            return self.train(one.made)
        if one.kind == "deployed" and self.chance.random() < 0.6:
            return self.reshape(one.made)
        {"train": self.pass_through, "test": self.test, "deployed": self.test, "lstm": self.test}[one.kind](one.made)
        return None

    def fill(self, made: object) -> None:
        if "data" in made.inputs:
            shape = made.blobs["data"].data.shape
            made.blobs["data"].data[...] = numpy.random.RandomState(self.chance.randrange(1000)).uniform(-1, 1, shape)

    def reshape(self, made: object) -> None:
        for _ in range(self.chance.randint(1, 3)):
            made.blobs["data"].reshape(self.chance.choice([1, 1, 2, 3, 7]), 3, 8, 8)
            if self.chance.random() < 0.5:
                made.reshape()
        self.test(made)

    def test(self, made: object) -> None:
        self.fill(made)
        layers = list(made._layer_names)
        if self.chance.random() < 0.3 and len(layers) > 2:
            at = self.chance.randrange(1, len(layers) - 1)
            made.forward(end=layers[at])
            tops = [made._blob_names[top] for top in made._top_ids(at)]
            self.read(*(made.blobs[top].data for top in tops))
            if self.chance.random() < 0.5:
                made.forward(start=layers[at + 1])
        if self.chance.random() < 0.2:
            Thrower.throws.now = True
            try:
                made.forward()
            except Exception as error:
                self.digests.append(type(error).__name__)
            Thrower.throws.now = False
        made.forward()
        self.read(*(made.blobs[name].data for name in made.outputs))

    def pass_through(self, made: object) -> None:
        made.forward()
        self.read(*(made.blobs[name].data for name in made.outputs))
        if self.chance.random() < 0.8:
            made.backward()
            self.read_net(made, gradients=True)

    def train(self, solver: object) -> None:
        if self.chance.random() < 0.3:
            solver.net.forward()
        solver.step(self.chance.randint(1, 3))
        if self.chance.random() < 0.3:
            solver.snapshot()
            saved = f"sequence-{self.seed}.prototxt_iter_{solver.iter}"
            solver.step(1)
            solver.restore(saved + ".solverstate")
            os.remove(saved + ".solverstate")
            os.remove(saved + ".caffemodel")
        self.read_net(solver.net)

    def share(self) -> None:
        """A net takes the weights of another of the same text."""
        of = [one for one in self.nets if one.kind in ("train", "test", "deployed")]
        if of:
            one = self.chance.choice(of)
            made = caffe.Net(self.file(one.text), caffe.TEST)
            made.share_with(one.made)
            self.nets.append(Made("deployed" if one.kind == "deployed" else "test", made, one.text))
            self.test(made)

    def run(self) -> str:
        caffe.set_random_seed(self.seed)
        for _ in range(STEPS):
            step = self.chance.random()
            if not self.nets or step < 0.25:
                self.make()
            elif step < 0.3:
                self.share()
            elif step < 0.45 or len(self.nets) > MOST_NETS:
                self.nets.pop(self.chance.randrange(len(self.nets)))
                if self.chance.random() < 0.3:
                    gc.collect()
            else:
                self.use(self.chance.choice(self.nets))
        nan = "nan:" if any(digest.startswith("nan") for digest in self.digests) else ""
        return f"{nan}{len(self.digests)}:{hashlib.sha256(' '.join(self.digests).encode()).hexdigest()[:12]}"


def in_threads(seeds: list[int]) -> list[str]:
    found = ["nothing"] * len(seeds)

    def run(at: int) -> Callable[[], None]:
        def work() -> None:
            caffe.set_mode_cpu()
            found[at] = Sequence(seeds[at]).run()

        return work

    threads = [threading.Thread(target=run(at)) for at in range(len(seeds))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def main() -> None:
    caffe.set_mode_cpu()
    first, count = int(sys.argv[1]), int(sys.argv[2])
    for seed in range(first, first + count):
        seeds = [10 * seed + at for at in range(3 if seed % 3 == 0 else 1)]
        print(seed, *(in_threads(seeds) if len(seeds) > 1 else [Sequence(seeds[0]).run()]), flush=True)


if __name__ == "__main__":
    main()
