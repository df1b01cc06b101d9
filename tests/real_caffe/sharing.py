"""Checks of a Caffe whose nets share memory."""

from __future__ import annotations

import re
import sys
from functools import partial
from pathlib import Path
from typing import Callable, Protocol

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench/caffe"))
import nets  # noqa: E402
from training import Trained, read_trained
from tree import Caffe, Finished


class Checks(Protocol):
    caffe: Caffe
    library: Path
    command: Path
    folder: Path
    prepared: Path

    def trained(self, ours: bool) -> Trained: ...
    def python(self, program: str, *arguments: str, ours: bool = True, **settings: str) -> Finished: ...


def preloaded(checks: Checks) -> str:
    # The loader goes on without a library that is not there, and nothing would be shared.
    names = checks.command.parent / "libsyncedmem_names.so"
    assert names.exists(), names
    return f"{names}:{checks.library}"


def layers(checks: Checks, what: str, **settings: str) -> Finished:
    """pycaffe_layers.py, with the original without settings."""
    ours = {"LD_PRELOAD": preloaded(checks), **settings} if settings else {}
    run = checks.python("pycaffe_layers.py", what, ours=False, **ours)
    assert run.status == 0, f"{what} {settings}: pycaffe {run.ending()}"
    return run


def every_type_of_layer_computes_the_same_on_shared_memory(checks: Checks) -> str:
    """each type of layer, tested and trained on shared memory that is lent full of NaN, computes the same, bit for bit"""
    count = 0
    for what in ("test", "train"):
        theirs = layers(checks, what).out.splitlines()
        for share in ("gradients", "all"):
            run = layers(checks, what, SYNCEDMEM_SHARE=share, SYNCEDMEM_JUNK_FILL="on")
            mine = run.out.splitlines()
            different = [line.split(" ")[0] for line, other in zip(theirs, mine) if line != other]
            assert len(mine) == len(theirs) > 60 and not different, f"{what} {share}: these differ: {different}"
            assert "shared memory needed" in run.err, run.err[-500:]
            count += len(mine)
    return f"{count} nets"


def a_training_on_shared_memory_is_the_same(checks: Checks) -> str:
    """a training on shared memory, with its tests between, ends in the same model and solver state, byte for byte"""
    for share in ("gradients", "all"):
        settings = {"LD_PRELOAD": preloaded(checks), "SYNCEDMEM_SHARE": share, "SYNCEDMEM_JUNK_FILL": "on"}
        command = [checks.caffe.part("program"), "train", "--solver=solver.prototxt"]
        ours = read_trained(checks.prepared, partial(checks.caffe.run, command, settings=settings))
        assert ours.files == checks.trained(False).files, f"{share}: the models differ"
    return "gradients, all"


def what_is_gone_is_an_exception_that_says_what_to_do(checks: Checks) -> str:
    """pycaffe's read of a blob whose memory is shared is an exception with the remedy, and a view from within a pass stays"""
    error = layers(checks, "gone", SYNCEDMEM_SHARE="all").out
    for words in ("error", "blob c1", "layer c1", "--keep c1", "kept True"):
        assert words in error, error
    kept = layers(checks, "gone", SYNCEDMEM_SHARE="all", SYNCEDMEM_KEEP="c1").out
    assert kept == layers(checks, "gone").out and "read" in kept, kept
    return "SYNCEDMEM_KEEP"


def what_sharing_would_save_is_what_it_saves(checks: Checks) -> str:
    """a run without sharing says what its blobs would need with it, and with it they need that; a killed run says it too"""

    def run(*options: str, program: str) -> str:
        command = [str(checks.command), "run", f"--library={checks.library}", *options, "--", checks.caffe.part("python"), "-c", program]
        return " ".join(checks.caffe.run(command, checks.folder).err.split())

    def mebibytes(pattern: str, text: str) -> float:
        found = re.search(pattern, text)
        assert found, f"{pattern} is not in {text[-3000:]}"
        return float(found[1])

    nets.write_all(str(checks.folder), 64, 2048)
    train = "import caffe; net = caffe.Net('resnet50-train.prototxt', caffe.TRAIN); [(net.forward(), net.backward()) for _ in range(2)]"
    test = "import caffe; net = caffe.Net('resnet50-4.prototxt', caffe.TEST); net.forward()"
    killed = f"{train}; import os; os.kill(os.getpid(), 9)"
    said = []
    for program, ending, words in (
        (test, test, {"all": "--share=all would need"}),
        (train, killed, {"all": "--share=all would need", "gradients": "which leaves the activations readable,"}),
    ):
        before = run(program=ending)
        for setting, words_before in words.items():
            after = run(f"--share={setting}", program=program)
            would = mebibytes(rf"{words_before} ([\d.]+) MiB", before)
            does = mebibytes(r"peak ([\d.]+) MiB of blobs", after)
            assert abs(would / does - 1) < 0.02, f"{setting}: it would need {would} MiB, and needs {does}"
            assert "shared memory needed" in after, after[-2000:]
            said.append(f"{would:.0f} and {does:.0f} MiB")
        assert "with --share=all, one more item would cost" in before, before[-2000:]
    return ", ".join(said)


ALL: list[Callable[[Checks], str]] = [
    every_type_of_layer_computes_the_same_on_shared_memory,
    a_training_on_shared_memory_is_the_same,
    what_is_gone_is_an_exception_that_says_what_to_do,
    what_sharing_would_save_is_what_it_saves,
]
