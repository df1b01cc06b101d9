"""Checks of programs that read and write blobs, and use nets and solvers, as a stranger's may, while nets share memory."""

from __future__ import annotations

import hashlib
import re
import tempfile
from pathlib import Path
from typing import Callable

import sharing
from checking import Checks

# In the gate; sharing_nightly.py has hundreds.
NETS = 10
SOLVER = """net: "program.prototxt" base_lr: 0.01 lr_policy: "fixed" random_seed: 3 display: 1 max_iter: 6 iter_size: 2
test_iter: 1 test_interval: 2 snapshot: 3 snapshot_prefix: "program" solver_mode: CPU """
SOLVERS = ('momentum: 0.9 debug_info: true', 'type: "Adam" momentum: 0.9', 'type: "RMSProp"')


def programs(checks: Checks, *arguments: str, shares: tuple[str, ...] = sharing.SETTINGS) -> str:
    """What pycaffe_programs.py reads is the original's, or gone."""
    theirs = checks.python("pycaffe_programs.py", *arguments, ours=False, GLOG_minloglevel="2")
    assert theirs.status == 0, f"the original: pycaffe {theirs.ending()}"
    wanted = [line.split() for line in theirs.out.splitlines()]
    said = []
    for share in shares:
        run = checks.python("pycaffe_programs.py", *arguments, ours=False, GLOG_minloglevel="2", **sharing.sharing(checks, share))
        assert run.status == 0 and "shared memory needed" in run.err, f"{share}: pycaffe {run.ending()}"
        found = [line.split() for line in run.out.splitlines()]
        assert [len(line) for line in found] == [len(line) for line in wanted], f"{share}: {run.ending()}"
        gone = read = 0
        for line, other in zip(wanted, found):
            different = [at for at, (one, two) in enumerate(zip(line, other)) if one != two and two != "gone"]
            assert not different, f"{share}: {line[0]} differs in {different[:5]}"
            gone, read = gone + other.count("gone"), read + len(other) - 1
        assert gone < read / 4, f"{share}: {gone} of {read} are gone"
        assert share != "parked" or "waited as" in run.err, run.err[-500:]
        said.append(f"{share}: {read - gone} reads, {gone} gone")
    return ", ".join(said)


def programs_of_strangers_compute_the_same(checks: Checks) -> str:
    """passes in parts, writes to blobs, exceptions, threads, ended nets, reshaped ones, forks and solvers compute the same"""
    return programs(checks, "run")


def every_blob_can_be_read_or_is_gone(checks: Checks) -> str:
    """each blob of random nets, read from outside after a pass, is the original's or gone, and the net goes on computing the same"""
    return programs(checks, "read", "0", str(NETS))


def a_training_is_the_same_with_any_solver_and_can_be_resumed(checks: Checks) -> str:
    """caffe train with iter_size, a test net, debug_info or another solver prints and saves the same, and so if it resumes"""

    def train(solver: str, **settings: str) -> list[str]:
        found = []
        with tempfile.TemporaryDirectory(dir=checks.folder) as scratch:
            folder = Path(scratch)
            (folder / "program.prototxt").symlink_to(checks.folder / "program.prototxt")
            (folder / "solver.prototxt").write_text(SOLVER + solver)
            for resumed in ([], ["--snapshot=program_iter_3.solverstate"]):
                command = [checks.caffe.part("program"), "train", "--solver=solver.prototxt", *resumed]
                run = checks.caffe.run(command, folder, settings=settings)
                assert run.status == 0, f"{settings}: caffe train {run.ending()}"
                saved = sorted(folder.glob("program_iter_*"))
                assert len(saved) == 4, saved
                found += [f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in saved]
                (folder / "program_iter_6.caffemodel").unlink()
                # Numbers of the losses, of the tests' outputs and of each blob, without the time and the process's number.
                numbers = re.findall(r"\] +(?:(?:Train|Test) net output #|Iteration \d.*loss|\[(?:Forward|Backward|Update)\]).*", run.err)
                assert len(numbers) > 10 and ("debug_info" in solver) == any("[Forward]" in line for line in numbers), numbers[:3]
                found += [re.sub(r" \(.*iter/s.*\)", "", line) for line in numbers]
        return found

    checks.python("pycaffe_programs.py", "write", ours=False)
    for solver in SOLVERS:
        theirs = train(solver)
        for share in sharing.SETTINGS:
            mine = train(solver, **sharing.sharing(checks, share))
            different = [line for line, other in zip(theirs, mine) if line != other]
            assert len(theirs) == len(mine) and not different, f"{share} {solver}: these differ: {different[:3]}"
    return ", ".join(SOLVERS)


ALL: list[Callable[[Checks], str]] = [
    programs_of_strangers_compute_the_same,
    every_blob_can_be_read_or_is_gone,
    a_training_is_the_same_with_any_solver_and_can_be_resumed,
]
