"""junk.py LIBRARY PROGRAM RUNS SEED: PROGRAM in environments of junk.

Each run gives every setting of LIBRARY (the words SYNCEDMEM_… in it) a random value, or none. The program has to end with
status 0, and standard error must hold no control character besides the ends of lines.
"""

import os
import random
import re
import subprocess
import sys
import tempfile

library, program, runs, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
chance = random.Random(seed)
with open(library, "rb") as file:
    settings = sorted(set(re.findall(rb"SYNCEDMEM_[A-Z_]+", file.read())))
if len(settings) < 15:
    sys.exit(f"only {len(settings)} settings were found in {library}")

WORDS = [b"", b"0", b"1", b"on", b"off", b"auto", b"malloc", b"never", b"always", b"stream", b"stderr", b"throw"]
NUMBERS = [b"-1", b"1K", b"64K", b"4M", b"1T", b"99999999999999999999", b"0x10", b"1e9", b"nan", b"inf", b"-0.0", b"0.001", b"1.5G"]
FILES = [b"/", b"/dev/null", b"/dev/full", b"/no/such/folder/file", b"file", b"file-%p", b"rows.csv", b"fifo", b"%s%n%p%%", b"link"]


def value() -> bytes:
    kind = chance.randrange(6)
    if kind == 0:
        return chance.choice(WORDS)
    if kind == 1:
        return chance.choice(NUMBERS)
    if kind == 2:
        return chance.choice(FILES)
    length = chance.choice([1, 3, 17, 200, 5000, 100_000])
    if kind == 3:
        return bytes(chance.randrange(1, 256) for _ in range(min(length, 5000)))
    if kind == 4:
        return chance.choice([b"A", b"9", b"\x1b[2J", b"\n", "é".encode(), b"%p"]) * (length // 4 + 1)
    return chance.choice(WORDS) + bytes([chance.randrange(1, 256)])


for run in range(runs):
    environment = {b"PATH": os.environb[b"PATH"]}
    environment.update((name, value()) for name in settings if chance.random() < 0.7)
    with tempfile.TemporaryDirectory() as folder:
        os.mkfifo(os.path.join(folder, "fifo"))
        os.symlink("/no/such/file", os.path.join(folder, "link"))
        try:
            ended = subprocess.run([program, "0.02", "2", "plain"], env=environment, cwd=folder, capture_output=True, timeout=300)
        except subprocess.TimeoutExpired:
            sys.exit(f"run {run} of seed {seed} hangs: {environment}")
    printed = ended.stderr.decode(errors="replace")
    if ended.returncode != 0 or any(ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160 for c in printed):
        sys.exit(f"run {run} of seed {seed} ended with {ended.returncode}: {environment}\n{printed[:2000]!r}")
print(f"{runs} environments")
