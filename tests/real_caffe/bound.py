"""Checks on the same Caffe with its calls bound within it, as Ubuntu links it: a copy of libcaffe with other relocations."""

import shutil
import struct
from pathlib import Path

from checking import Checks
from training import read_trained
from traps import DYNSYM

RELA = 4  # SHT_RELA
# R_X86_64_RELATIVE and R_AARCH64_RELATIVE, by the name of the machine.
RELATIVE = {62: 8, 183: 1027}
FUNCTION = 2  # STT_FUNC
TAKE_OVER = {"SYNCEDMEM_TAKE_OVER": "1"}


def bind_within(libcaffe: Path, folder: Path) -> None:
    """Writes a copy into `folder` whose references to its own functions name addresses in it instead of symbols, which is what
    -Bsymbolic-functions does: also in its tables of virtual functions."""
    image = bytearray(libcaffe.resolve().read_bytes())
    (machine,) = struct.unpack_from("<H", image, 18)
    (sections,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, at) for at in range(sections, sections + size * count, size)]
    for _, section_kind, _, _, place, length, link, _, _, entry in headers:
        if section_kind != RELA or headers[link][1] != DYNSYM:
            continue
        symbols = headers[link][4]
        for at in range(place, place + length, entry):
            where, info, addend = struct.unpack_from("<QQq", image, at)
            _, kind, _, section, address, _ = struct.unpack_from("<IBBHQQ", image, symbols + 24 * (info >> 32))
            if section and kind & 15 == FUNCTION:
                struct.pack_into("<QQq", image, at, where, RELATIVE[machine], address + addend)
    copy = folder / libcaffe.name
    copy.write_bytes(image)
    shutil.copymode(libcaffe, copy)


def bound(checks: Checks) -> Path:
    """The folder of that copy, made once."""
    folder = checks.folder / "bound"
    if not folder.exists():
        folder.mkdir()
        bind_within(Path(checks.caffe.part("libcaffe")), folder)
    return folder


def a_caffe_that_is_bound_within_itself_trains_the_same(checks: Checks, *options: str, modes: tuple[str, ...] = ("all",)) -> str:
    """bound within itself and taken over, Caffe trains the same model, byte for byte, under run, also on shared memory, and layers have names"""
    folder = str(bound(checks))
    program = [checks.caffe.part("program"), "train", "--solver=solver.prototxt"]
    words = "was taken over by entry patch: 12 of 12 functions, and 22 for the names of layers"
    for share in ([], *([f"--share={mode}"] for mode in modes)):
        ours = read_trained(
            checks.prepared, lambda at: checks.syncedmem("run", *options, *share, "--", *program, folder=at, library_path=folder)
        )
        assert ours.files == checks.trained(False).files, f"under run {share}, the models differ"
        wanted = [words, "solver history", *(["shared memory needed"] if share else ["norm1 internal"])]
        missing = [each for each in wanted if each not in ours.run.err]
        assert not missing, f"the report {share} does not say {missing}: {ours.run.err[-2000:]}"
    return words


def pycaffe_is_taken_over_when_python_loads_it(checks: Checks) -> str:
    """bound within itself, it is taken over when Python loads it, and out of memory is a MemoryError"""
    original = checks.python("pycaffe_compute.py", ours=False)
    settings = {"library_path": str(bound(checks)), **TAKE_OVER}
    ours = checks.python("pycaffe_compute.py", **settings)
    assert original.status == 0 and original.out, f"with the original, pycaffe {original.ending()}"
    assert (ours.status, ours.out) == (original.status, original.out), f"pycaffe computes another thing: {ours.ending()}"
    full = checks.python("pycaffe_out_of_memory.py", "address-space", SYNCEDMEM_ON_ERROR="throw", **settings)
    lines = full.out.splitlines()
    assert full.status == 0 and lines[1:3] == [
        "MemoryError from touching a blob",
        "MemoryError from the middle of a layer",
    ], f"it said {lines} and {full.ending()}"
    return f"{len(original.out.splitlines())} arrays"


ALL = [
    a_caffe_that_is_bound_within_itself_trains_the_same,
    pycaffe_is_taken_over_when_python_loads_it,
]
