"""What takes hours about shared memory: thousands of random nets, deliberate faults that these find, growth, Caffe's own tests.

Run by `scripts/test sharing-nightly`, with the arguments of checks.py.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Callable

import checks as common
import programs
import sharing
from checking import Checks

ROOT = Path(__file__).resolve().parents[2]
NETS = 2000
SEQUENCES = 500
ITERATIONS = (1000, 10000)
# More than a process's memory differs from run to run, in KiB.
NOISE = 2048

def thousands_of_random_nets_compute_the_same(checks: Checks) -> str:
    """thousands of random nets compute the same on shared memory full of NaN"""
    different = [one for first in range(0, NETS, 100) for one in sharing.random_nets(checks, first, 100)]
    assert not different, f"these differ: {different}"
    return f"{NETS} nets"


def hundreds_of_random_sequences_compute_the_same(checks: Checks) -> str:
    """hundreds of random sequences of what programs do with nets compute the same"""
    different = [one for first in range(0, SEQUENCES, 100) for one in sharing.random_sequences(checks, first, 100)]
    assert not different, f"these differ: {different}"
    return f"{SEQUENCES} sequences"


def blobs_of_hundreds_of_random_nets_can_be_read(checks: Checks) -> str:
    """each blob of hundreds of random nets, read from outside after a pass, is the original's or gone"""
    return "; ".join(programs.programs(checks, "read", str(first), "100") for first in range(0, SEQUENCES, 100))


# The packages with deliberate faults that these checks find, and where.
FAULTY = {"syncedmem-net": "crates/net/src", "syncedmem": "src/object/sharing", "syncedmem-core": "crates/core/src"}


def with_fault(checks: Checks, package: str, fault: str, folder: Path) -> Checks:
    """Checks of libraries of which one has that deliberate fault."""
    build, cfg = ["--quiet", "--target-dir", str(ROOT / "target/sharing-faults")], ["--cfg", f'syncedmem_fault="{fault}"']
    environment = dict(os.environ)
    if package == "syncedmem-core":
        # Cargo passes arguments to the last package alone.
        command = ["cargo", "build", *build, "--package", "syncedmem", "--lib"]
        environment["CARGO_ENCODED_RUSTFLAGS"] = "\x1f".join(cfg)
    else:
        crate_type = ["--crate-type", "cdylib"] if package == "syncedmem" else []
        command = ["cargo", "rustc", *build, "--package", package, "--lib", *crate_type, "--", *cfg]
    subprocess.run(command, cwd=ROOT, check=True, env=environment)
    for name, good in (("libsyncedmem.so", checks.library), ("libsyncedmem_net.so", checks.command.parent / "libsyncedmem_net.so")):
        is_faulty = (name == "libsyncedmem_net.so") == (package == "syncedmem-net")
        (folder / name).symlink_to(ROOT / "target/sharing-faults/debug" / name if is_faulty else good)
    return Checks(folder / "libsyncedmem.so", folder / "syncedmem", folder)


def finder(faulty: Checks) -> str:
    """The first of these checks that finds a fault, with the nets that differ; empty if none does."""
    for share in ("all", "parked"):
        different = sharing.layers_that_differ(faulty, "train", share) or sharing.random_nets(faulty, 0, 40, (share,))
        if different:
            return f"{share}: {', '.join(different[:3])}, {len(different)} in all"
    for what in (["run"], ["read", "0", "20"]):
        try:
            programs.programs(faulty, *what, shares=("parked",))
        except AssertionError as difference:
            return f"programs {what[0]}: {difference}"[:200]
    return ""


def deliberate_faults_are_found(checks: Checks) -> str:
    """each deliberate fault of what shares and parks makes a net of one layer type, a random net or a program compute something else"""
    found = []
    for package, sources in FAULTY.items():
        text = "".join(path.read_text() for path in sorted((ROOT / sources).rglob("*.rs")))
        # Debian's Caffe has no cuDNN: scripts/real-caffe --gpu --cudnn --faults finds its fault.
        for fault in re.findall(r'cfg!\(syncedmem_fault = "((?!cuDNN)[^"]+)"\)', text):
            with tempfile.TemporaryDirectory(dir=checks.folder) as folder:
                by = finder(with_fault(checks, package, fault, Path(folder)))
            assert by, f"nothing differs though {fault}"
            found.append(f"{fault} ({by})")
    assert len(found) >= len(FAULTY), found
    return "; ".join(found)


def a_long_training_does_not_grow(checks: Checks) -> str:
    """ten thousand iterations on shared memory take no more memory than a thousand"""
    said = []
    for share in sharing.SETTINGS:
        peaks = []
        for iterations in ITERATIONS:
            settings = sharing.sharing(checks, share)
            run = checks.python("pycaffe_layers.py", "long", str(iterations), ours=False, GLOG_minloglevel="2", **settings)
            assert run.status == 0, f"pycaffe {run.ending()}"
            peaks.append(int(run.out.split()[-1]))
        assert peaks[1] <= peaks[0] + NOISE, f"{share}: {peaks} KiB"
        said.append(f"{share}: {peaks[0]} and {peaks[1]} KiB")
    return ", ".join(said)


def caffes_own_tests_pass_or_say_what_is_gone(checks: Checks) -> str:
    """each of Caffe's own tests passes with sharing on, or ends in the error of a read of what is gone"""
    gtest, place = checks.caffe.part("gtest"), Path(checks.caffe.part("gtest_folder"))
    listed = checks.caffe.run([gtest, "--gtest_filter=-*GPU*", "--gtest_list_tests"], place).out.splitlines()
    suite, suites = "", dict[str, list[str]]()
    for line in filter(None, listed):
        name = line.split("#")[0].strip()
        if line.startswith(" "):
            suites[suite].append(suite + name)
        else:
            suite = name
            suites[suite] = []
    settings = {"LD_PRELOAD": sharing.preloaded(checks), "SYNCEDMEM_SHARE": "all"}
    passed, ended = 0, []
    for suite, names in suites.items():
        run = checks.caffe.run([gtest, f"--gtest_filter={suite}*"], place, settings=settings)
        if run.status == 0:
            passed += len(names)
            continue
        # The error ends the process: the suite's tests one by one.
        for name in names:
            run = checks.caffe.run([gtest, f"--gtest_filter={name}"], place, settings=settings)
            said = re.search(r"the (?:data|gradient) of blob \S+|the internal memory of layer \S+", run.err)
            assert run.status == 0 or said, f"{name} {run.ending()}"
            passed += run.status == 0
            if run.status != 0 and said:
                ended.append(f"{name}: {said[0]}")
    return f"{passed} pass; these end in the error: " + ("; ".join(ended) or "none")


ALL: list[Callable[[Checks], str]] = [
    deliberate_faults_are_found,
    thousands_of_random_nets_compute_the_same,
    hundreds_of_random_sequences_compute_the_same,
    blobs_of_hundreds_of_random_nets_can_be_read,
    a_long_training_does_not_grow,
    caffes_own_tests_pass_or_say_what_is_gone,
]

if __name__ == "__main__":
    common.ALL[:] = ALL
    raise SystemExit(common.main())
