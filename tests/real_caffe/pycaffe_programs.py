"""Run by pycaffe: programs that do with a training net what a stranger's may do, and a digest of all that each of them reads.

usage: pycaffe_programs.py run | read FIRST COUNT | write

`run` runs each program, which prints one line. `read` reads blobs of random nets from outside after each pass. Contents that no layer needs
any more may be gone: they are the word "gone". `write` writes the programs' net with random inputs to program.prototxt.
"""

from __future__ import annotations

import gc
import os
import random
import sys
import threading
from typing import Callable

import caffe
import numpy
from pycaffe_layers import CONVOLUTION, digest, net, source
from random_nets import random_net

INPUTS = """force_backward: true
layer { name: "data" type: "Input" top: "data" top: "label" top: "target"
  input_param { shape { dim: 4 dim: 3 dim: 16 dim: 16 } shape { dim: 4 } shape { dim: 4 dim: 5 } } }
"""
SCORES = 'inner_product_param { num_output: 5 weight_filler { type: "gaussian" std: 0.1 } }'
FROZEN = "param { lr_mult: 0 } param { lr_mult: 0 } "
PYTHON = 'python_param { module: "pycaffe_programs" layer: "Passes" } '
MEAN = "pooling_param { pool: AVE global_pooling: true }"


def convolution(name: str, bottom: str, extra: str = "") -> tuple[str, str, str, str, str]:
    return (name, "Convolution", bottom, name, extra + CONVOLUTION)


def in_place(blob: str, *kinds: str) -> list[tuple[str, str, str, str, str]]:
    return [(f"{blob}_{kind.lower()}", kind, blob, blob, "scale_param { bias_term: true }" if kind == "Scale" else "") for kind in kinds]


def text(middle: str = "Power", lower: str = "", cut: str = "") -> str:
    """A block of ResNet, one of GoogLeNet, and two losses. A layer of type `middle` is between the blocks."""
    return INPUTS + net(
        convolution("c1", "data", lower),
        *in_place("c1", "BatchNorm", "Scale", "ReLU"),
        convolution("c2", "c1", lower),
        *in_place("c2", "BatchNorm", "Scale", "ReLU"),
        convolution("c3", "c2", lower),
        *in_place("c3", "BatchNorm", "Scale"),
        ("sum", "Eltwise", "c1 c3", "sum", ""),
        *in_place("sum", "ReLU"),
        ("middle", middle, "sum", "middle", cut + (PYTHON if middle == "Python" else "")),
        convolution("a", "middle"),
        *in_place("a", "ReLU"),
        convolution("b", "middle"),
        ("b_tanh", "TanH", "b", "t", ""),
        ("p", "Pooling", "middle", "p", "pooling_param { kernel_size: 3 stride: 1 pad: 1 }"),
        ("concat", "Concat", "a t p", "concat", ""),
        convolution("c4", "concat"),
        *in_place("c4", "ReLU", "Dropout"),
        ("norm", "LRN", "c4", "norm", "lrn_param { local_size: 3 }"),
        ("mean", "Pooling", "norm", "mean", MEAN),
        ("ip", "InnerProduct", "mean", "ip", SCORES),
        ("loss", "SoftmaxWithLoss", "ip label", "loss", ""),
        convolution("c5", "concat"),
        *in_place("c5", "Sigmoid"),
        ("mean5", "Pooling", "c5", "mean5", MEAN),
        ("ip5", "InnerProduct", "mean5", "ip5", SCORES),
        ("loss5", "EuclideanLoss", "ip5 target", "loss5", "loss_weight: 0.3"),
    )


class Passes(caffe.Layer):  # type: ignore[misc] # pycaffe has no types
    """Passes its input on, or throws in one of its functions."""

    throws = ""

    def setup(self, bottom: list, top: list) -> None:
        pass

    def reshape(self, bottom: list, top: list) -> None:
        top[0].reshape(*bottom[0].data.shape)

    def forward(self, bottom: list, top: list) -> None:
        if Passes.throws == "forward":
            raise ValueError("thrown")
        top[0].data[...] = bottom[0].data

    def backward(self, top: list, propagate_down: list, bottom: list) -> None:
        if Passes.throws == "backward":
            raise ValueError("thrown")
        bottom[0].diff[...] = top[0].diff


class Program:
    def __init__(self, name: str) -> None:
        self.name, self.found, self.numbers = name, list[str](), numpy.random.RandomState(7)
        caffe.set_random_seed(11)

    def path(self, content: str, kind: str = "net") -> str:
        path = f"program-{self.name}-{kind}.prototxt"
        with open(path, "w") as out:
            out.write(content)
        return path

    def net(self, content: str, phase: int = caffe.TRAIN) -> "caffe.Net":
        return caffe.Net(self.path(content), phase)

    def solver(self, content: str, kind: str = "SGD", more: str = "") -> "caffe.Solver":
        momentum = "" if kind == "RMSProp" else "momentum: 0.9"
        path = self.path(content)
        settings = f'train_net: "{path}" base_lr: 0.01 lr_policy: "fixed" {momentum} type: "{kind}" random_seed: 3 display: 0 {more}'
        return caffe.get_solver(self.path(f'{settings} snapshot_prefix: "{path}"', "solver"))

    def fill(self, made: "caffe.Net", batch: int = 4, side: int = 16) -> None:
        made.blobs["data"].reshape(batch, 3, side, side)
        made.blobs["label"].reshape(batch)
        made.blobs["target"].reshape(batch, 5)
        made.reshape()
        made.blobs["data"].data[...] = self.numbers.uniform(-1, 1, (batch, 3, side, side))
        made.blobs["label"].data[...] = self.numbers.randint(5, size=batch)
        made.blobs["target"].data[...] = self.numbers.uniform(0, 1, (batch, 5))

    def read(self, *arrays: numpy.ndarray) -> None:
        self.found += [digest(array) for array in arrays]

    def read_net(self, made: "caffe.Net") -> None:
        """All that is not shared."""
        self.read(*(blob.data for name, blob in made.blobs.items() if name in made.outputs))
        self.read(*(array for blobs in made.params.values() for blob in blobs for array in (blob.data, blob.diff)))

    def may_be_gone(self, read: Callable[[], numpy.ndarray]) -> None:
        try:
            self.read(read())
        except Exception as error:
            # pycaffe's object without data.
            if "--keep" not in str(error):
                raise
            self.found.append("gone")

    def learn(self, made: "caffe.Net") -> None:
        made.forward()
        made.backward()
        self.read_net(made)


def read_blobs(seed: int) -> list[str]:
    """A read ends the sharing of a blob, so each pass is followed by reads of a few."""
    program, chance = Program("read"), random.Random(seed)
    made = program.net(random_net(seed))
    for _ in range(4):
        for one_pass in (made.forward, made.backward):
            one_pass()
            # The same random choices, whatever is gone.
            for name in chance.sample(list(made.blobs), max(1, len(made.blobs) // 4)):
                blob = made.blobs[name]
                program.may_be_gone(lambda: blob.data)
                if one_pass == made.backward:
                    program.may_be_gone(lambda: blob.diff)
        program.read_net(made)
    return program.found


def passes(program: Program) -> None:
    """Forward alone in a loop; both passes in parts; a Backward again."""
    made = program.net(text())
    for _ in range(3):
        program.fill(made)
        made.forward()
    made.backward()
    program.read_net(made)
    for _ in range(2):
        made.forward(end="concat")
        made.forward(start="c4")
        made.backward(end="c4")
        made.backward(start="concat_concat_0_split", end="middle")
        made.backward(start="sum_relu")
        program.read_net(made)
    for start in ("data", "c2", "middle"):
        made.forward(start=start)
    made.backward()
    program.read_net(made)
    try:
        made.backward()
    except Exception as error:
        assert "another forward pass" in str(error) or "is gone" in str(error), error
    program.fill(made)
    made.clear_param_diffs()
    program.learn(made)


def dreams(program: Program) -> None:
    """A blob is its own gradient, which goes back to the data."""
    for name in ("middle", "concat", "c1", "c2"):
        made = program.net(text())
        for _ in range(3):
            program.fill(made)
            made.forward(end=name)
            made.blobs[name].diff[...] = made.blobs[name].data
            made.backward(start=name)
            program.read(made.blobs["data"].diff)
        program.learn(made)


def surgery(program: Program) -> None:
    made = program.net(text())
    program.fill(made)
    names = ["c1", "sum", "t", "concat", "a", "c4", "norm", "c5", "mean", "ip5", "p", "middle"]
    for at in range(3):
        made.forward()
        for name in names[4 * at : 4 * at + 4]:
            blob = made.blobs[name]
            numbers = program.numbers.uniform(-1, 1, tuple(blob.shape))
            program.may_be_gone(lambda: blob.data.copy())
            if program.found[-1] != "gone":
                blob.data[...] = numbers
        made.params["c4"][0].data[...] *= 0.5
        made.params["c1_scale"][0].data[...] += 0.1
        made.backward()
        program.read_net(made)
    made.forward()
    made.blobs["loss"].diff[...] = 2
    made.backward()
    program.read_net(made)
    program.learn(made)


def layer_of_python(program: Program) -> None:
    """It throws now and then, in a net and in a solver."""
    solver = program.solver(text("Python"))
    for made, work in ((solver.net, lambda: solver.step(1)), (solver.net, lambda: (solver.net.forward(), solver.net.backward()))):
        for throws in ("", "backward", "", "forward", "backward", "forward", ""):
            program.fill(made)
            Passes.throws = throws
            try:
                work()
                assert not throws
            except Exception as error:
                assert throws, error
            Passes.throws = ""
            made.clear_param_diffs()
            program.learn(made)


def threads(program: Program) -> None:
    """A net in each of two threads, and a net that is made in one and used in others."""
    there = program.net(text())
    program.fill(there)
    others = [Program(f"thread-{at}") for at in range(2)]
    turn = threading.Barrier(2)

    def work(other: Program) -> None:
        caffe.set_mode_cpu()
        caffe.set_random_seed(5)
        made = other.net(text())
        for _ in range(3):
            other.fill(made)
            turn.wait()
            other.learn(made)
        if other is others[0]:
            there.forward()

    running = [threading.Thread(target=work, args=(other,)) for other in others]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    there.backward()
    program.read_net(there)
    program.found += others[0].found + others[1].found


def deleted(program: Program) -> None:
    """A net ends while its contents are parked, and its blobs are still in use."""
    for name in ("concat", "t", "c1", "c4", "sum"):
        made = program.net(text())
        program.fill(made)
        made.forward()
        blob = made.blobs[name]
        params = [one for blobs in made.params.values() for one in blobs]
        del made
        gc.collect()
        program.may_be_gone(lambda: blob.data.copy())
        program.read(*(one.data for one in params))
    program.fill(other := program.net(text()))
    program.learn(other)


def reshaped(program: Program) -> None:
    made = program.net(text())
    for batch, side in ((4, 16), (2, 16), (8, 16), (2, 24), (3, 9), (8, 16), (4, 16)):
        program.fill(made, batch, side)
        program.learn(made)
        made.forward()
        program.fill(made, batch + 1, side)
        program.learn(made)


def shared(program: Program) -> None:
    """A net for tests has the weights of one in training, and is used between its passes."""
    made = program.net(text())
    tests = caffe.Net(program.path(text()), caffe.TEST)
    tests.share_with(made)
    for _ in range(3):
        program.fill(made)
        program.fill(tests)
        made.forward()
        tests.forward()
        program.read(*(tests.blobs[name].data for name in tests.outputs))
        made.backward()
        program.read_net(made)
        made.save("program.caffemodel")
        tests.copy_from("program.caffemodel")


def forked(program: Program) -> None:
    """A child process goes on with Backward, and so does its parent."""
    made = program.net(text())
    for _ in range(2):
        program.fill(made)
        made.forward()
        receive, send = os.pipe()
        child = os.fork()
        if child == 0:
            there = Program("child")
            made.backward()
            there.read_net(made)
            there.learn(made)
            os.write(send, " ".join(there.found).encode())
            os._exit(0)
        os.close(send)
        made.backward()
        program.read_net(made)
        with os.fdopen(receive) as text_of_child:
            program.found += text_of_child.read().split()
        assert os.waitpid(child, 0)[1] == 0


def frozen(program: Program) -> None:
    """The lower layers do not learn, by their rates or because no gradient reaches them."""
    for content in (text(lower=FROZEN), text(lower=FROZEN).replace("force_backward: true", ""), text(cut="propagate_down: false ")):
        solver = program.solver(content)
        for _ in range(3):
            program.fill(solver.net)
            solver.step(1)
        program.read_net(solver.net)


def solvers(program: Program) -> None:
    """Two solvers take turns, of each kind; snapshots are restored."""
    for kind in ("SGD", "Adam", "RMSProp"):
        pair = [program.solver(text(), kind, "iter_size: 2"), program.solver(text("AbsVal"), kind)]
        for at in range(4):
            solver = pair[at % 2]
            program.fill(solver.net)
            solver.step(2)
            program.read_net(solver.net)
        solver = pair[0]
        solver.snapshot()
        saved = f"program-{program.name}-net.prototxt_iter_{solver.iter}"
        solver.step(2)
        solver.net.forward()
        solver.restore(saved + ".solverstate")
        solver.step(1)
        program.read_net(solver.net)


PROGRAMS = (passes, dreams, surgery, layer_of_python, threads, deleted, reshaped, shared, forked, frozen, solvers)


def main() -> None:
    caffe.set_mode_cpu()
    if sys.argv[1] == "write":
        with open("program.prototxt", "w") as out:
            random_data = source("data", "4 3 16 16", 'type: "gaussian"') + source("label", "4") + source("target", "4 5", 'type: "gaussian"')
            out.write(text().replace(INPUTS, random_data))
    elif sys.argv[1] == "read":
        first, count = int(sys.argv[2]), int(sys.argv[3])
        for seed in range(first, first + count):
            print(seed, *read_blobs(seed), flush=True)
    else:
        for work in PROGRAMS:
            program = Program(work.__name__)
            work(program)
            print(work.__name__, *program.found, flush=True)


if __name__ == "__main__":
    main()
