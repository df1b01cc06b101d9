"""Checks that a real, prebuilt Caffe runs on the library as it runs on its own SyncedMemory.

Started by `scripts/real-caffe --test`. Each check prints one line; the last line counts them.
"""

import argparse
import os
import re
import signal
import sys
import tempfile
from pathlib import Path
from typing import Callable

import bound
import command
import in_place
import programs
import sharing
import strangers
import traps
from checking import Checks
from training import train
from tree import Finished, Missing

CAFFES_WORDS = re.compile(r"Check failed: \*ptr host allocation of size (\d+) failed")
ENORMOUS_BYTES = 4 * 32768 * 65535  # pycaffe_out_of_memory.py's blob


def every_test_of_caffes_own_suite_passes(checks: Checks) -> str:
    """Caffe's own prebuilt test suite passes, all of it"""
    gtest, place = checks.caffe.part("gtest"), Path(checks.caffe.part("gtest_folder"))
    only = "--gtest_filter=-*GPU*"
    listed = checks.caffe.run([gtest, only, "--gtest_list_tests"], place)
    assert listed.status == 0, f"listing the original's tests {listed.ending()}"
    # Tests are the indented lines; a suite's line starts at the margin.
    expected = sum(line.startswith("  ") for line in listed.out.splitlines())
    run = checks.caffe.run([gtest, only], place, preload=checks.library, count_calls=True)
    failed = sorted(set(re.findall(r"\[  FAILED  \] ([\w/]+\.\w+)", run.out)))
    assert not failed, f"{len(failed)} failed: {' '.join(failed[:5])}"
    assert run.status == 0, f"caffe-gtest {run.ending()}"
    passed = re.search(r"\[  PASSED  \] (\d+) tests", run.out)
    assert passed and int(passed[1]) == expected > 0, f"{passed and passed[1]} passed, the original has {expected}"
    assert run.calls["construct"] > 0, "none of its calls reached the library"
    return f"{expected} tests, {run.calls['construct']} objects"


def a_training_is_the_same_byte_for_byte(checks: Checks) -> str:
    """a training ends in the same model and solver state, byte for byte"""
    original, ours = checks.trained(False), checks.trained(True)
    assert ours.losses == original.losses, f"losses {ours.losses} are not the original's {original.losses}"
    assert ours.files == original.files, f"saved {ours.files}, the original {original.files}"
    return f"{checks.iterations} iterations, model sha256 {ours.model[:16]}"


def every_object_made_is_destroyed(checks: Checks) -> str:
    """the training's calls are counted: every object that was made was destroyed"""
    calls = checks.trained(True).run.calls
    for name in ("construct", "cpu_data", "mutable_cpu_data"):
        assert calls[name] > 0, f"{name}={calls[name]}"
    assert calls["construct"] == calls["destroy"], f"construct={calls['construct']} destroy={calls['destroy']}"
    return " ".join(f"{name}={count}" for name, count in calls.items() if count)


def nothing_reaches_the_original(checks: Checks) -> str:
    """with traps in the original's SyncedMemory, the same training comes to the same end"""
    folder = checks.folder / "trapped"
    folder.mkdir()
    trapped = traps.set_traps(Path(checks.caffe.part("libcaffe")), folder)
    assert trapped, "libcaffe exports no SyncedMemory: this Caffe has bound it inside, a preload cannot work"
    caught = checks.caffe.run(
        [checks.caffe.part("program"), "train", "--solver=solver.prototxt"],
        checks.prepared,
        library_path=str(folder),
    )
    assert caught.status == -signal.SIGTRAP, f"without the library the traps did not catch: caffe {caught.ending()}"
    ours = train(checks.caffe, checks.prepared, preload=checks.library, library_path=str(folder))
    assert ours.files == checks.trained(False).files, "the models differ"
    return f"{len(trapped)} functions trapped"


def pycaffe_computes_the_same(checks: Checks) -> str:
    """pycaffe computes the same with either kind of host block: every blob and gradient, bit for bit"""
    original = checks.python("pycaffe_compute.py", ours=False)
    assert original.status == 0, f"with the original, pycaffe {original.ending()}"
    theirs = original.out.splitlines()
    for settings in ({}, {"SYNCEDMEM_HOST_BLOCKS": "malloc"}):
        ours = checks.python("pycaffe_compute.py", **settings)
        assert ours.status == 0, f"{settings}: pycaffe {ours.ending()}"
        mine = ours.out.splitlines()
        different = [line for line, other in zip(theirs, mine) if line != other]
        assert len(theirs) == len(mine) > 0 and not different, f"{settings}: these differ: {different[:3]}"
    return f"{len(theirs)} arrays"


def survived(run: Finished) -> None:
    """Checks the lines of pycaffe_out_of_memory.py when errors are thrown."""
    expected = [
        f"asking for {ENORMOUS_BYTES} bytes",
        "MemoryError from touching a blob",
        "MemoryError from the middle of a layer",
        "computes the same",
        "a new net works",
    ]
    lines = run.out.splitlines()
    assert lines == expected and run.status == 0, f"it said {lines} and {run.ending()}"


def out_of_address_space_is_a_memory_error(checks: Checks) -> str:
    """out of address space is a MemoryError in pycaffe, which goes on computing"""
    survived(checks.python("pycaffe_out_of_memory.py", "address-space", SYNCEDMEM_ON_ERROR="throw"))
    return ""


def the_librarys_limit_is_a_memory_error(checks: Checks) -> str:
    """reaching SYNCEDMEM_HOST_LIMIT is a MemoryError too, and pycaffe goes on computing"""
    survived(
        checks.python(
            "pycaffe_out_of_memory.py", "library-limit", SYNCEDMEM_ON_ERROR="throw", SYNCEDMEM_HOST_LIMIT="256M"
        )
    )
    return ""


def otherwise_it_dies_with_caffes_words(checks: Checks) -> str:
    """unless asked to throw, it ends as Caffe does: SIGABRT, and Caffe's own words"""
    words = []
    for ours in (False, True):
        run = checks.python("pycaffe_out_of_memory.py", "address-space", ours=ours)
        who = "the library" if ours else "the original"
        found = CAFFES_WORDS.search(run.err)
        assert run.status == -signal.SIGABRT, f"with {who} it {run.ending()}"
        assert found, f"with {who} Caffe's words are missing: {run.err[-400:]}"
        assert int(found[1]) == ENORMOUS_BYTES, f"with {who} it names {found[1]} bytes, not {ENORMOUS_BYTES}"
        words.append(found[0])
    assert words[0] == words[1], f"{words[1]!r} is not {words[0]!r}"
    return words[1]


ALL: list[Callable[[Checks], str]] = [
    a_training_is_the_same_byte_for_byte,
    every_object_made_is_destroyed,
    nothing_reaches_the_original,
    pycaffe_computes_the_same,
    out_of_address_space_is_a_memory_error,
    the_librarys_limit_is_a_memory_error,
    otherwise_it_dies_with_caffes_words,
    *command.ALL,
    *bound.ALL,
    *in_place.ALL,
    *sharing.ALL,
    *programs.ALL,
    *strangers.ALL,
    every_test_of_caffes_own_suite_passes,
]


def main() -> int:
    """Runs all checks and returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", type=Path, required=True, help="the libsyncedmem.so to preload")
    parser.add_argument("--command", type=Path, required=True, help="the syncedmem command")
    options = parser.parse_args()
    library, program = options.library.resolve(), options.command.resolve()
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="real-caffe-") as folder:
        checks = Checks(library, program, Path(folder))
        for check in ALL:
            start = sum(os.times()[:4])
            try:
                detail = check(checks)
            except (AssertionError, Missing) as reason:
                failed += 1
                print(f"not ok - {check.__doc__}: {' '.join(str(reason).split())}", flush=True)
            else:
                passed += 1
                took = f"{sum(os.times()[:4]) - start:.1f} s of processor time"
                print(f"ok - {check.__doc__} ({', '.join(filter(None, (detail, took)))})", flush=True)
    print(f"real-caffe: {passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
