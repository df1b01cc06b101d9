"""mutate.py COMMAND TRACE RUNS SEED: `COMMAND report` and `COMMAND export` of TRACE with damage of every kind.

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
if len(whole) < 100_000 or not whole.startswith(b"syncmem"):
    sys.exit(f"{trace} is no recording of some length")

# Words of the header, and of the records behind the text.
NUMBERS = [0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 64, 4096, 0xFF00FF00]


def damage(text: bytearray) -> None:
    kind = chance.randrange(7)
    # Most of what can go wrong is in the header.
    at = chance.randrange(chance.choice([min(len(text), 2048), len(text)]))
    length = chance.choice([1, 2, 9, 100, 512, 3000])
    if kind == 0:
        text[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        del text[max(at, 1) :]
    elif kind == 2:
        del text[at : at + length]
    elif kind == 3:
        text[at:at] = text[at : at + length] * chance.choice([1, 2, 50])
    elif kind == 4:
        text[at : at + length] = bytes(chance.randrange(256) for _ in range(length))
    elif kind == 5:
        text[at : at + length] = bytes(length)
    else:
        at -= at % 8
        text[at : at + 8] = chance.choice(NUMBERS).to_bytes(8, "little")


def confine() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (768 << 20, 768 << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


with tempfile.TemporaryDirectory() as folder:
    damaged, page = os.path.join(folder, "t.trace"), os.path.join(folder, "t.html")
    for run in range(runs):
        text = bytearray(whole)
        for _ in range(chance.choice([1, 1, 2, 5, 30])):
            if text:
                damage(text)
        with open(damaged, "wb") as file:
            file.write(text)
        options = chance.choice([["report", "--text"], ["report", "-o", page], ["export", "--to=json", "-o", page]])
        try:
            ended = subprocess.run([command, *options, damaged], capture_output=True, timeout=300, preexec_fn=confine)
        except subprocess.TimeoutExpired:
            sys.exit(f"run {run} of seed {seed} hangs")
        said = (ended.stdout + ended.stderr).decode(errors="replace")
        if ended.returncode not in (0, 1) or "panicked" in said or "\x1b" in said:
            sys.exit(f"run {run} of seed {seed} ended with {ended.returncode}: {said[-2000:]!r}")
print(f"{runs} traces")
