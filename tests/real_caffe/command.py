"""Checks of the `syncedmem` command on a real, prebuilt Caffe: what it says, against what is counted otherwise."""

import contextlib
import re
import signal
import tempfile
from pathlib import Path
from typing import Callable, Iterator, Optional

import first_screen
from checking import Checks
from first_screen import in_units
from training import read_trained, Trained
from tree import Finished

# The address space of the preloaded libraries, as they are shipped, and of the recording.
MORE_KIBIBYTES = 10 << 10


def training(checks: Checks, *options: str, settings: Optional[dict[str, str]] = None, shell: str = "") -> Trained:
    """A training under `syncedmem run`; `shell` stands for the program, to start it another way."""
    program = [checks.caffe.part("program"), "train", "--solver=solver.prototxt"]
    if shell:
        program = ["sh", "-c", shell + ' exec "$@"', "sh", *program]
    return read_trained(
        checks.prepared, lambda folder: checks.syncedmem("run", *options, "--", *program, folder=folder, settings=settings)
    )


def numbers(pattern: str, text: str) -> list[int]:
    """The numbers in the line that fits."""
    found = re.search(pattern, text, re.M)
    assert found, f"no line fits {pattern}: {text[:400]}"
    return [int(number) for number in found.groups()]


def the_doctor_knows_this_caffe(checks: Checks) -> str:
    """syncedmem doctor says of caffe, libcaffe and pycaffe that they work, and what they are"""
    for part in ("program", "libcaffe", "python"):
        said = checks.syncedmem("doctor", checks.caffe.part(part))
        assert said.status == 0, f"doctor {part} {said.ending()}"
        for words in ("verdict      works:", "a CPU_ONLY build", "BVLC rc4 to master"):
            assert words in said.out, f"doctor {part} does not say {words!r}: {said.out[-600:]}"
    return ""


def a_training_under_run_is_the_same_and_is_accounted_for(checks: Checks) -> str:
    """syncedmem run trains the same model, and says in its details how many objects there were, and who held the memory"""
    ours = training(checks, "--details")
    assert ours.files == checks.trained(False).files, "the models differ"
    text = ours.run.report()
    made, ended = numbers(r"^objects made: (\d+), ended: (\d+)$", text)
    calls = checks.trained(True).run.calls
    assert made == ended == calls["construct"], f"made {made}, ended {ended}, and {calls['construct']} were constructed"
    holders = re.findall(r"^ +[\d.]+ [KM]iB +[\d.]+ %  (.*)$", text.partition("by holder\n")[2], re.M)
    assert any("norm1 internal" in holder for holder in holders), f"the holders are {holders}"
    assert "libsyncedmem_net" not in text, "libsyncedmem_net.so is no place in a program"
    return f"{made} objects, {len(holders)} holders"


def the_memory_of_a_training_has_the_names_of_its_layers_and_their_roles(checks: Checks) -> str:
    """the report names the memory of a training after its layers, and sums by role what pycaffe counts"""
    text = training(checks).run.report()
    roles, holders = (re.findall(r"^ +([\d.]+ [KM]?i?B) +([\d.]+) %  (.*)$", part, re.M) for part in text.split("by holder\n"))
    percent = {role: float(part) for _, part, role in roles}
    assert percent.get("without a layer's name", 0) <= 5, roles
    bytes_of = {role: size for size, _, role in roles}
    counted = in_units(bytes_of_parameters(checks))
    for role in ("weights", "gradients of weights", "solver history"):
        assert bytes_of[role] == counted, f"{role}: {roles}, counted: {counted}"
    names = [holder.partition(", ")[0] for _, _, holder in holders]
    assert "conv1 output" in names and "norm1 internal" in names, names
    batches = re.findall(r"^at batch (\d+), one more item costs ", text, re.M)
    assert sorted(batches) == ["128", "32"], f"the net and its test: {batches}"
    plain = training(checks, "--no-names").run.report()
    assert "by role" not in plain and "conv1 output" not in plain and "at batch" not in plain, plain[:600]
    return ", ".join(f"{role} {part} %" for role, part in percent.items())


def solver_of(checks: Checks) -> str:
    """The solver of the prepared training."""
    return (checks.prepared / "solver.prototxt").read_text()


@contextlib.contextmanager
def with_solver(checks: Checks, solver: str) -> Iterator[Path]:
    """A folder like that of the prepared training, with another solver."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for item in checks.prepared.iterdir():
            if item.name != "solver.prototxt":
                (folder / item.name).symlink_to(item)
        (folder / "solver.prototxt").write_text(solver)
        yield folder


def solvers_with_two_histories_have_names_for_both(checks: Checks) -> str:
    """the second history of AdaDelta and Adam has the names of its parameters, and counts as history"""
    counted = bytes_of_parameters(checks)
    said = []
    for kind in ("AdaDelta", "Adam"):
        solver = re.sub(r"(?m)^(type|max_iter|test_interval|display):.*\n", "", solver_of(checks))
        # AdaDelta takes its own momentum, and Adam a delta.
        solver += f'type: "{kind}"\nmax_iter: 2\ntest_interval: 2\ndisplay: 1\ndelta: 0.000001\nmomentum2: 0.999\n'
        with with_solver(checks, solver) as folder:
            ours = checks.syncedmem("run", "--", checks.caffe.part("program"), "train", "--solver=solver.prototxt", folder=folder)
            assert ours.status == 0, f"caffe train {ours.ending()}"
        assert re.search(rf"^ +{re.escape(in_units(2 * counted))} +[\d.]+ %  solver history$", ours.err, re.M), (
            f"{kind}: two of {counted} bytes: {ours.err[-2000:]}"
        )
        said.append(kind)
    return ", ".join(said)


def bytes_of_parameters(checks: Checks) -> int:
    """The bytes of the parameters of the net that is trained, as pycaffe counts them."""
    program = (
        "import caffe; net = caffe.Net('net.prototxt', caffe.TRAIN); "
        "print(sum(blob.data.nbytes for blobs in net.params.values() for blob in blobs))"
    )
    counted = checks.caffe.run([checks.caffe.part("python"), "-c", program], checks.prepared)
    assert counted.status == 0, counted.err[-400:]
    return int(counted.out)


def what_is_told_of_a_training_is_what_is_counted(checks: Checks) -> str:
    """the account and the trace agree with a count that is taken in front of the library"""
    counts = first_screen.counting(checks.folder)
    counted, trace = checks.folder / "counts", checks.folder / "trace"
    ours = training(
        checks,
        "--details",
        "--report",
        f"--trace={trace}",
        settings={"COUNTS": str(counted)},
        shell=f"export LD_PRELOAD={counts}:$LD_PRELOAD;",
    )
    assert ours.files == checks.trained(False).files, "the models differ"
    made, ended, read, written, lent = numbers(
        r"^constructed=(\d+) destroyed=(\d+) read=(\d+) written=(\d+) lent=(\d+)$", counted.read_text()
    )
    assert made == ended > 100 and read > 10000, f"{made} objects, {read} reads: that is no training"
    said = ours.run.report()
    assert [made, ended] == numbers(r"^objects made: (\d+), ended: (\d+)", said)
    seen = dict.fromkeys(("made", "ended", "lent"), 0)
    passes = dict.fromkeys(("forward", "backward", "update", "test"), 0)
    kinds = re.compile(r'"what":"(made|ended|lent)"')
    moved = re.compile(r'"what":"(allocated|freed)".*?"bytes":(\d+).*"object":')
    bytes_of: dict[str, list[int]] = {"allocated": [], "freed": []}
    most = 0
    exported = checks.syncedmem("export", str(trace), "--to=json")
    assert exported.status == 0, f"export {exported.ending()}"
    events = trace.with_suffix(".json")
    with events.open() as lines:
        for line in lines:
            found = kinds.search(line)
            if found:
                seen[found[1]] += 1
            elif '"what":"pass"' in line:
                passes[re.search(r'"name":"(\w+)"', line)[1]] += 1
            elif move := moved.search(line):
                bytes_of[move[1]].append(int(move[2]))
            elif now := re.search(r'"args":\{"pageable":(\d+),', line):
                most = max(most, int(now[1]))
    assert list(seen.values()) == [made, ended, lent], f"the trace has {seen}, counted were {counted.read_text()}"
    # Caffe tests before and behind the iterations, and shows the loss of one more forward pass at the end.
    (iterations,) = numbers(r"^max_iter: (\d+)$", solver_of(checks))
    right = {"forward": iterations + 1, "backward": iterations, "update": iterations, "test": 2}
    assert passes == right, f"the trace has {passes}, not {right}"
    blocks, allocated, live, peak = numbers(
        r"^blocks=(\d+) allocated=(\d+) live=(\d+) peak=(\d+)$", counted.read_text()
    )
    traced = [len(bytes_of["allocated"]), sum(bytes_of["allocated"]), sum(bytes_of["freed"]), most]
    assert traced == [blocks, allocated, allocated - live, peak], f"the trace has {traced}, counted were {counted.read_text()}"
    from_where = re.findall(r"^  pageable memory from the (?:system|pool) +(\d+) ", said, re.M)
    assert sum(map(int, from_where)) == blocks, f"blocks: {from_where}, counted were {blocks}"
    assert f"\npeak {in_units(peak)} of blobs; " in said, f"the peak was {peak}: {said[:600]}"
    again = checks.syncedmem("report", str(trace), "--text", "--details")
    assert again.status == 0, f"report --text {again.ending()}"
    assert figures(again.out) == figures(said), f"the trace's report differs: {again.out[:2000]}\n{said[:2000]}"
    events.unlink()  # hundreds of megabytes
    return f"{made} objects, {read} reads, {written} writes, {lent} buffers lent, {peak} bytes at the peak"


def figures(text: str) -> list[str]:
    """The lines of a report from the account on: before it stands what only `run` knows of a process."""
    lines = text[text.index("\nobjects made") :].splitlines()
    # Leave out the command's own lines after it.
    said = [line.rstrip() for line in lines if not line.startswith("syncedmem: ")]
    return "\n".join(said).rstrip().splitlines()


def a_training_that_is_killed_is_reported_with_its_layers(checks: Checks) -> str:
    """a training that SIGKILL ends in its middle is reported: what ended it, at how much memory, and which layers hold it"""
    # Caffe logs the first iteration's outputs, and has its memory then. It never comes to its last iteration.
    program = [checks.caffe.part("program"), "train", "--solver=solver.prototxt"]
    script = """
        "$@" 2>"$0" & caffe=$!
        until grep -q 'Train net output' "$0"; do kill -0 $caffe || exit 9; sleep 0.05; done
        kill -KILL $caffe
        wait $caffe
    """
    log = checks.folder / "killed.log"
    log.touch()
    with with_solver(checks, re.sub(r"(?m)^max_iter:.*", "max_iter: 1000000000", solver_of(checks))) as folder:
        said = checks.syncedmem("run", "--", "sh", "-c", script, str(log), *program, folder=folder)
    assert said.status == 128 + 9, f"the shell {said.ending()}: {log.read_text()[-400:]}"
    first = re.search(r"^caffe was killed by signal 9 at ([1-9][\d.]+ [KM]iB), growing: (.+)$", said.err, re.M)
    assert first, said.err[:600]
    assert "conv1 output" in said.err, said.err[:2000]
    return f"at {first[1]}, growing: {first[2]}"


def first_screen_of(name: str, *kinds: str) -> Callable[[Checks], str]:
    """The check of a net's first screens."""

    def check(checks: Checks) -> str:
        folder = checks.folder / "nets"
        if not folder.exists():
            folder.mkdir()
            first_screen.write(folder, first_screen.QUICK)
        screens = [first_screen.check(checks, folder, name, kind) for kind in kinds]
        return ", ".join(f"{kind} {screen.peak}" for kind, screen in zip(kinds, screens))

    check.__doc__ = f"the first screen of {name} ({', '.join(kinds)}) agrees with the shapes, with a count in front of the original, and with the kernel"
    return check


def a_net_that_fits_by_itself_fits_under_run_and_one_that_does_not_is_told_why(checks: Checks) -> str:
    """AlexNet runs in a little more address space than the original needs; in less, the report begins with the blob and the limit"""
    folder = checks.folder / "limited"
    folder.mkdir()
    first_screen.write(folder, first_screen.QUICK)
    program = first_screen.programs(checks.caffe, folder, "alexnet")["time"]
    first_screen.counted(checks.caffe, folder, program)
    (alone,) = numbers(r"^VmPeak:\s+(\d+) kB$", (folder / "counts").read_text())

    def limited(kibibytes: int) -> Finished:
        shell = f'ulimit -v {kibibytes}; exec "$@"'
        return checks.syncedmem("run", "--", "sh", "-c", shell, "sh", *program, folder=folder)

    fits = limited(alone + MORE_KIBIBYTES)
    assert fits.status == 0, f"in {alone} KiB and {MORE_KIBIBYTES} more it {fits.ending()}"
    (fitting,) = numbers(r"^at batch .*; ulimit -v's [\d.]+ MiB would hold batch (\d+)$", fits.err)
    assert fitting >= 4, f"batch 4 ran: {fits.err[-2000:]}"
    said = []
    # The weights of a net that is being made, and a gradient in its first pass.
    for share, name in ((0.6, r"\w+ weights"), (0.8, r"\w+ weights gradient")):
        ended = limited(int(alone * share))
        assert ended.status == -signal.SIGABRT, f"in {share} of {alone} KiB it {ended.ending()}"
        words = " ".join(ended.err.split())
        asked = re.search(r"host allocation of size (\d+) failed", words)
        limit = re.escape(in_units(int(alone * share) * 1024))
        first = re.search(
            rf"caffe ran out of memory and was killed by signal 6: ({name}) asked for ([\d.]+ \w+), which the limit on the address "
            rf"space \(ulimit -v, {limit}\) does not allow at that moment blobs held [1-9][\d.]+ MiB: \w+ weights ",
            words,
        )
        assert asked and first and first[2] == in_units(int(asked[1])), ended.err[-3000:]
        assert "would hold" not in words and "nothing worth doing" not in words and "growing" not in words, words[-2000:]
        said.append(first[1])
    return f"{alone} KiB alone; " + ", ".join(said)


ALL = [
    the_doctor_knows_this_caffe,
    a_training_under_run_is_the_same_and_is_accounted_for,
    the_memory_of_a_training_has_the_names_of_its_layers_and_their_roles,
    what_is_told_of_a_training_is_what_is_counted,
    a_training_that_is_killed_is_reported_with_its_layers,
    solvers_with_two_histories_have_names_for_both,
    first_screen_of("lenet", "train", "time", "pycaffe"),
    first_screen_of("alexnet", "train", "pycaffe"),
    first_screen_of("vgg16", "time"),
    a_net_that_fits_by_itself_fits_under_run_and_one_that_does_not_is_told_why,
]
