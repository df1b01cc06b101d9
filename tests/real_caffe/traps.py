"""A copy of libcaffe in which the original SyncedMemory traps: a process that calls it dies of SIGTRAP.

Counting what reaches the library cannot show that nothing went past it. This does.
"""

import shutil
import struct
from pathlib import Path
from typing import Iterator

PREFIX = "_ZN5caffe12SyncedMemory"
TRAP = b"\xcc"  # int3 of x86-64
DYNSYM, PT_LOAD, STT_FUNC = 11, 1, 2


def functions(image: bytes) -> Iterator[tuple[str, int, int]]:
    """Name, place in the file and size of each function that a 64-bit ELF library exports."""
    assert image[:6] == b"\x7fELF\x02\x01", "libcaffe is not a 64-bit little-endian ELF file"
    programs, sections = struct.unpack_from("<QQ", image, 32)
    program_size, program_count, section_size, section_count = struct.unpack_from("<HHHH", image, 54)
    loads = []
    for at in range(programs, programs + program_size * program_count, program_size):
        kind, _, offset, address, _, size = struct.unpack_from("<IIQQQQ", image, at)
        if kind == PT_LOAD:
            loads.append((address, size, offset))
    headers = [
        struct.unpack_from("<IIQQQQIIQQ", image, sections + number * section_size) for number in range(section_count)
    ]
    for _, kind, _, _, table, length, link, _, _, entry in headers:
        if kind != DYNSYM:
            continue
        names = headers[link][4]
        for at in range(table, table + length, entry):
            name, info, _, section, address, size = struct.unpack_from("<IBBHQQ", image, at)
            if info & 15 != STT_FUNC or section == 0:
                continue
            start = names + name
            text = image[start : image.index(b"\0", start)].decode()
            place = next(offset + address - base for base, span, offset in loads if base <= address < base + span)
            yield text, place, size


def set_traps(libcaffe: Path, folder: Path) -> list[str]:
    """Writes the trapped copy into `folder` and returns the names of the functions that trap."""
    copy = folder / libcaffe.name
    shutil.copyfile(libcaffe.resolve(), copy)
    image = bytearray(copy.read_bytes())
    trapped = []
    for name, place, size in list(functions(bytes(image))):
        if name.startswith(PREFIX):
            image[place : place + size] = TRAP * size
            trapped.append(name)
    copy.write_bytes(image)
    return sorted(trapped)
