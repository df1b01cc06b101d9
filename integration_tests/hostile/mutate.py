"""mutate.py COMMAND TRACE RUNS SEED: `COMMAND report` of TRACE with damage of every kind.

The command has to end with status 0 (a report) or 1 (a sentence that says what is wrong), in time, and with no more memory
than 512 MiB of address space beyond its own.
"""

import os
import random
import resource
import subprocess
import sys
import tempfile

command, trace, runs, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
chance = random.Random(seed)
with open(trace, "rb") as file:
    whole = file.read()
if whole.count(b"\n") < 100:
    sys.exit(f"{trace} is no trace of some length")

NUMBERS = [b"0", b"-1", b"1", b"18446744073709551615", b"18446744073709551616", b"1e999", b"9" * 400, b"0.0000001", b"null"]
PIECES = [b"{", b"}", b"[" * 2000, b'"', b"\\", b"\\u0000", b"\xff\xfe", b"\x00", b",\n", b"]\n", b'{"ph":"M"}', b" " * 4096, b"\x1b[2J"]


def damage(text: bytearray) -> None:
    kind = chance.randrange(8)
    at = chance.randrange(max(1, len(text)))
    length = chance.choice([1, 2, 9, 100, 512, 3000])
    if kind == 0:
        text[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        del text[at:]
    elif kind == 2:
        del text[at : at + length]
    elif kind == 3:
        text[at:at] = text[at : at + length] * chance.choice([1, 2, 50])
    elif kind == 4:
        text[at:at] = chance.choice(PIECES)
    elif kind == 5:
        text[at : at + length] = bytes(chance.randrange(256) for _ in range(length))
    elif kind == 6:
        lines = bytes(text).split(b"\n")
        chance.shuffle(lines)
        text[:] = b"\n".join(lines)
    else:
        # Replace a number by another one.
        while at < len(text) and not 48 <= text[at] <= 57:
            at += 1
        end = at
        while end < len(text) and 48 <= text[end] <= 57:
            end += 1
        text[at:end] = chance.choice(NUMBERS)


def confine() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (768 << 20, 768 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


with tempfile.TemporaryDirectory() as folder:
    damaged, page = os.path.join(folder, "t.json"), os.path.join(folder, "t.html")
    for run in range(runs):
        text = bytearray(whole)
        for _ in range(chance.choice([1, 1, 2, 5, 30])):
            if text:
                damage(text)
        with open(damaged, "wb") as file:
            file.write(text)
        options = ["--text"] if run % 2 else ["-o", page]
        try:
            ended = subprocess.run([command, "report", damaged, *options], capture_output=True, timeout=60, preexec_fn=confine)
        except subprocess.TimeoutExpired:
            sys.exit(f"run {run} of seed {seed} hangs")
        said = (ended.stdout + ended.stderr).decode(errors="replace")
        if ended.returncode not in (0, 1) or "panicked" in said or "\x1b" in said:
            sys.exit(f"run {run} of seed {seed} ended with {ended.returncode}: {said[-2000:]!r}")
print(f"{runs} traces")
