"""Checks of a Caffe whose nets share memory."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Callable

sys.path.append(str(Path(__file__).resolve().parents[2] / "bench/caffe"))
import nets  # noqa: E402
from checking import Checks
from training import train
from tree import Finished

# In the gate; sharing_nightly.py has thousands, and hundreds.
NETS = 12
SETTINGS = ("gradients", "all", "parked")
SEQUENCES = 60


def preloaded(checks: Checks) -> str:
    names = checks.command.parent / "libsyncedmem_net.so"
    # The loader goes on without a library that is not there, and nothing would be shared.
    assert names.exists(), names
    return f"{names}:{checks.library}"


def sharing(checks: Checks, share: str) -> dict[str, str]:
    """Settings for shared memory that is full of NaN when it is taken, and when it is free."""
    return {"LD_PRELOAD": preloaded(checks), "SYNCEDMEM_SHARE": share, "SYNCEDMEM_JUNK_FILL": "on"}


def layers(checks: Checks, what: str, **settings: str) -> Finished:
    """pycaffe_layers.py, with the original without settings."""
    ours = {"LD_PRELOAD": preloaded(checks), **settings} if settings else {}
    run = checks.python("pycaffe_layers.py", what, ours=False, **ours)
    assert run.status == 0, f"{what} {settings}: pycaffe {run.ending()}"
    return run


def layers_that_differ(checks: Checks, what: str, share: str) -> list[str]:
    """Nets of one layer type that compute something else on shared memory."""
    theirs = layers(checks, what).out.splitlines()
    run = checks.python("pycaffe_layers.py", what, ours=False, **sharing(checks, share))
    mine = run.out.splitlines()
    assert len(theirs) > 60 and ("shared memory needed" in run.err or run.status != 0), run.err[-500:]
    # A net that reads what is gone ends the process.
    return [line.split(" ")[0] for line, other in zip(theirs, [*mine, *[""] * len(theirs)]) if line != other]


def every_type_of_layer_computes_the_same_on_shared_memory(checks: Checks) -> str:
    """each type of layer, tested and trained on shared memory that is lent full of NaN, computes the same, bit for bit"""
    for what, shares in (("test", ("gradients", "all")), ("train", SETTINGS)):
        for share in shares:
            different = layers_that_differ(checks, what, share)
            assert not different, f"{what} {share}: these differ: {different}"
    return ", ".join(SETTINGS)


def random_nets(checks: Checks, first: int, count: int, shares: tuple[str, ...] = SETTINGS) -> list[str]:
    """The seeds and settings of those nets that compute something else on shared memory."""
    with_seeds = ["random", str(first), str(count)]
    theirs = checks.python("pycaffe_layers.py", *with_seeds, ours=False, GLOG_minloglevel="2")
    assert theirs.status == 0, f"the original: pycaffe {theirs.ending()}"
    lines = theirs.out.splitlines()
    finite = sum("nan:" not in line for line in lines)
    assert len(lines) == count and finite > 0.8 * count, f"{finite} of {count} nets compute numbers"
    different = []
    for share in shares:
        run = checks.python("pycaffe_layers.py", *with_seeds, ours=False, GLOG_minloglevel="2", **sharing(checks, share))
        mine = run.out.splitlines()
        different += [f"{share} {line.split()[0]}" for line, other in zip(lines, mine) if line != other]
        # A net that reads what is gone ends the process.
        different += [f"{share} {seed}" for seed in range(first + len(mine), first + count)][:1]
        assert "shared memory needed" in run.err or len(mine) < count, run.err[-500:]
    return different


def random_nets_compute_the_same(checks: Checks) -> str:
    """random nets, with branches, chains in place, shared weights and several losses, compute the same on shared memory full of NaN"""
    different = random_nets(checks, 0, NETS)
    assert not different, f"these differ: {different}"
    return f"{NETS} nets"


def random_sequences(checks: Checks, first: int, count: int) -> list[str]:
    """The seeds of those sequences that compute something else with names of layers, and on shared memory."""

    def run(**settings: str) -> Finished:
        return checks.python("random_sequences.py", str(first), str(count), ours=False, GLOG_minloglevel="2", **settings)

    original = run()
    assert original.status == 0, f"the original: pycaffe {original.ending()}"
    lines = original.out.splitlines()
    assert len(lines) == count and len(set(lines)) == count and sum("nan:" in line for line in lines) < 0.2 * count, lines
    different = []
    for share in ("off", *SETTINGS):
        ours = run(**sharing(checks, share))
        mine = ours.out.splitlines()
        different += [f"{share} {line.split()[0]}" for line, other in zip(lines, mine) if line != other]
        if ours.status != 0:
            different.append(f"{share} {first + len(mine)} {ours.ending()}")
        assert ("shared memory needed" in ours.err) == (share != "off") or ours.status != 0, ours.err[-500:]
    return different


def random_sequences_compute_the_same(checks: Checks) -> str:
    """nets and solvers made, reshaped, run in parts, trained, saved and deleted in random sequences, also on threads, compute the same"""
    different = random_sequences(checks, 0, SEQUENCES)
    assert not different, f"these differ: {different}"
    return f"{SEQUENCES} sequences, with names of layers, and " + ", ".join(SETTINGS)


def a_training_on_shared_memory_is_the_same(checks: Checks) -> str:
    """a training on shared memory, with its tests between, ends in the same model and solver state, byte for byte"""
    for share in SETTINGS:
        ours = train(checks.caffe, checks.prepared, settings=sharing(checks, share))
        assert ours.files == checks.trained(False).files, f"{share}: the models differ"
    return ", ".join(SETTINGS)


def what_is_gone_is_an_exception_that_says_what_to_do(checks: Checks) -> str:
    """pycaffe's read of a blob whose memory is shared is an exception with the remedy, and a view from within a pass stays"""
    for share in ("all", "parked"):
        test, train, view = layers(checks, "gone", SYNCEDMEM_SHARE=share).out.splitlines()
        for words in ("error", "the net is in phase TEST", "blob c1", "layer c1", "to read it after a pass, keep it: --keep c1"):
            assert words in test, test
        for words in ("error", "blob c1", "layer c1", "to read it after a pass, use --share=gradients, or keep it: --keep c1"):
            assert words in train and "phase TEST" not in train, train
        assert view == "kept True", view
    alone = layers(checks, "gone").out
    assert alone.count("read ") == 2, alone
    for remedy in ({"SYNCEDMEM_SHARE": "all", "SYNCEDMEM_KEEP": "c1"}, {"SYNCEDMEM_SHARE": "gradients"}):
        assert layers(checks, "gone", **remedy).out == alone, remedy
    return "SYNCEDMEM_KEEP, gradients"


def what_sharing_would_save_is_what_it_saves(checks: Checks) -> str:
    """a run without sharing says what its blobs would need with it, and with it they need that; a killed run says it too"""

    def run(*options: str, program: str) -> str:
        said = checks.syncedmem("run", *options, "--", checks.caffe.part("python"), "-c", program).err
        return " ".join(said.split())

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
        (train, killed, {"parked": "--share=parked would need", "gradients": "which leaves the activations readable,"}),
    ):
        before = run(program=ending)
        best = next(iter(words))
        for setting, words_before in words.items():
            after = run(f"--share={setting}", program=program)
            would = mebibytes(rf"{words_before} ([\d.]+) MiB", before)
            # Pages of the arena stay resident.
            idle = mebibytes(r"shared memory needed ([\d.]+) MiB", after) - mebibytes(r"of which ([\d.]+) MiB were in use", after)
            does = mebibytes(r"peak ([\d.]+) MiB of blobs", after) + idle
            assert abs(would / does - 1) < 0.02, f"{setting}: it would need {would} MiB, and needs {does}"
            assert (" waited as " in after) == (setting == "parked"), after[-2000:]
            said.append(f"{setting} {would:.0f} and {does:.0f} MiB")
        assert f"with --share={best}, one more item would cost" in before, before[-2000:]
        assert f"1. command: --share={best}, possible" in before and "nothing worth doing" not in before, before[-2000:]
    return ", ".join(said)


ALL: list[Callable[[Checks], str]] = [
    every_type_of_layer_computes_the_same_on_shared_memory,
    random_nets_compute_the_same,
    random_sequences_compute_the_same,
    a_training_on_shared_memory_is_the_same,
    what_is_gone_is_an_exception_that_says_what_to_do,
    what_sharing_would_save_is_what_it_saves,
]
