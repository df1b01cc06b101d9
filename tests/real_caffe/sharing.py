"""Checks of a Caffe whose nets share memory."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Callable, Protocol

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


ALL: list[Callable[[Checks], str]] = [
    every_type_of_layer_computes_the_same_on_shared_memory,
    a_training_on_shared_memory_is_the_same,
    what_is_gone_is_an_exception_that_says_what_to_do,
]
