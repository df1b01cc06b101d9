"""What takes hours about shared memory: thousands of random nets, deliberate faults that these find, growth, Caffe's own tests.

Run by `scripts/test sharing-nightly`, with the arguments of checks.py.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Callable

import checks as common
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


def with_fault(fault: str) -> Path:
    """A libsyncedmem_net.so with that deliberate fault."""
    target = ROOT / "target/sharing-faults"
    build = ["cargo", "rustc", "--quiet", "--package", "syncedmem-net", "--lib", "--target-dir", str(target)]
    subprocess.run([*build, "--", "--cfg", f'syncedmem_fault="{fault}"'], cwd=ROOT, check=True)
    return target / "debug/libsyncedmem_net.so"


def deliberate_faults_are_found(checks: Checks) -> str:
    """each deliberate fault of crates/net makes a random net, or a net of one layer type, compute something else"""
    sources = [path.read_text() for path in sorted((ROOT / "crates/net/src").rglob("*.rs"))]
    found = []
    for fault in re.findall(r'cfg!\(syncedmem_fault = "([^"]+)"\)', "".join(sources)):
        names = with_fault(fault)
        different = sharing.layers_that_differ(checks, "train", "all", names) or sharing.random_nets(checks, 0, 40, ("all",), names)
        assert different, f"no net differs though {fault}"
        found.append(f"{fault}: {len(different)}")
    assert found, "there are no deliberate faults"
    return ", ".join(found)


def a_long_training_does_not_grow(checks: Checks) -> str:
    """ten thousand iterations on shared memory take no more memory than a thousand"""
    said = []
    for share in ("gradients", "all"):
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
    a_long_training_does_not_grow,
    caffes_own_tests_pass_or_say_what_is_gone,
]

if __name__ == "__main__":
    common.ALL[:] = ALL
    raise SystemExit(common.main())
