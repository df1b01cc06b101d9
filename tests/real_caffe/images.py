"""Images to train on: stripes in four directions, half lost in noise, the same every time."""

import math
import random
import struct
import zlib
from pathlib import Path

SIDE = 32
DIRECTIONS = 4


def png(rows: list[bytes]) -> bytes:
    """An 8-bit colour PNG of these rows of RGB bytes."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", len(rows[0]) // 3, len(rows), 8, 2, 0, 0, 0)
    # A zero before each row says that it is not filtered.
    pixels = zlib.compress(b"".join(b"\0" + row for row in rows), 6)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def striped(direction: int, chance: random.Random) -> list[bytes]:
    """One image: stripes of a random width, place and tint, under noise."""
    angle = math.pi * direction / DIRECTIONS + chance.uniform(-0.15, 0.15)
    wave = 2 * math.pi / chance.uniform(5, 10)
    across, down = wave * math.cos(angle), wave * math.sin(angle)
    start = chance.uniform(0, 2 * math.pi)
    tint = [chance.uniform(30, 70) for _ in range(3)]
    rows = []
    for y in range(SIDE):
        row = bytearray()
        for x in range(SIDE):
            height = math.sin(across * x + down * y + start)
            for strength in tint:
                value = 128 + strength * height + chance.uniform(-100, 100)
                row.append(max(0, min(255, round(value))))
        rows.append(bytes(row))
    return rows


def write(folder: Path, training: int = 256, testing: int = 128) -> None:
    """Writes the images, and train.txt and test.txt as Caffe's ImageData layer reads them."""
    chance = random.Random(20140404)
    (folder / "images").mkdir()
    for name, count in (("train", training), ("test", testing)):
        lines = []
        for number in range(count):
            direction = number % DIRECTIONS
            path = f"images/{name}-{number}.png"
            (folder / path).write_bytes(png(striped(direction, chance)))
            lines.append(f"{path} {direction}\n")
        (folder / f"{name}.txt").write_text("".join(lines))
