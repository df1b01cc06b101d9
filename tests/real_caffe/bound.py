"""Checks on the same Caffe with its calls bound within it, as Ubuntu links it: a copy of libcaffe with other relocations."""

import shutil
import struct
from pathlib import Path

from command import Checks
from training import read_trained
from traps import DYNSYM, PREFIX
from tree import Finished

RELA, RELATIVE = 4, 8  # SHT_RELA, R_X86_64_RELATIVE
TAKE_OVER = {"SYNCEDMEM_TAKE_OVER": "1"}


def bind_within(libcaffe: Path, folder: Path) -> None:
    """Writes a copy into `folder` whose references to its own SyncedMemory name addresses in it instead of symbols, which is what
    -Bsymbolic-functions does."""
    image = bytearray(libcaffe.resolve().read_bytes())
    (sections,) = struct.unpack_from("<Q", image, 40)
    size, count = struct.unpack_from("<HH", image, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", image, at) for at in range(sections, sections + size * count, size)]
    for _, kind, _, _, place, length, link, _, _, entry in headers:
        if kind != RELA or headers[link][1] != DYNSYM:
            continue
        symbols, names = headers[link][4], headers[headers[link][6]][4]
        for at in range(place, place + length, entry):
            where, info, addend = struct.unpack_from("<QQq", image, at)
            name, _, _, section, address, _ = struct.unpack_from("<IBBHQQ", image, symbols + 24 * (info >> 32))
            if section and image.startswith(PREFIX.encode(), names + name):
                struct.pack_into("<QQq", image, at, where, RELATIVE, address + addend)
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


def python(checks: Checks, program: str, *arguments: str, **settings: str) -> Finished:
    """Runs one of the pycaffe programs here on that copy, the library preloaded; settings become environment variables."""
    arguments = (checks.caffe.part("python"), str(Path(__file__).with_name(program)), *arguments)
    return checks.caffe.run(
        list(arguments), checks.folder, preload=checks.library, settings=settings, library_path=str(bound(checks))
    )


def a_caffe_that_is_bound_within_itself_trains_the_same(checks: Checks) -> str:
    """bound within itself and taken over, Caffe trains the same model, byte for byte, under run"""
    folder = str(bound(checks))
    program = [checks.caffe.part("program"), "train", "--solver=solver.prototxt"]
    command = [str(checks.command), "run", f"--library={checks.library}", "--", *program]
    ours = read_trained(checks.prepared, lambda at: checks.caffe.run(command, at, library_path=folder))
    assert ours.files == checks.trained(False).files, "under run, the models differ"
    words = "was taken over by entry patch: 12 of 12 functions"
    assert words in ours.run.err, f"the report does not say {words!r}: {ours.run.err[-400:]}"
    return words


def pycaffe_is_taken_over_when_python_loads_it(checks: Checks) -> str:
    """bound within itself, it is taken over when Python loads it, and out of memory is a MemoryError"""
    original = checks.caffe.run(
        [checks.caffe.part("python"), str(Path(__file__).with_name("pycaffe_compute.py"))], checks.folder
    )
    ours = python(checks, "pycaffe_compute.py", **TAKE_OVER)
    assert (ours.status, ours.out) == (original.status, original.out), f"pycaffe computes another thing: {ours.ending()}"
    full = python(
        checks, "pycaffe_out_of_memory.py", "address-space", SYNCEDMEM_ON_ERROR="throw", **TAKE_OVER
    )
    lines = full.out.splitlines()
    assert full.status == 0 and lines[1:3] == [
        "MemoryError from touching a blob",
        "MemoryError from the middle of a layer",
    ], f"it said {lines} and {full.ending()}"
    return f"{len(original.out.splitlines())} arrays"


ALL = [a_caffe_that_is_bound_within_itself_trains_the_same, pycaffe_is_taken_over_when_python_loads_it]
