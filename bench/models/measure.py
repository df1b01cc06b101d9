"""Opening a model of 500 MB and reading every blob: by this library, by pycaffe, by protobuf, and `read()` of the file.

usage: measure.py --python PYTHON --pycaffe "COMMAND…" [--quick] [--check]      prints the table
       measure.py READER FILE ROUNDS      one reader, in a process of its own: prints JSON
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LAYERS, INPUTS, OUTPUTS = 50, 2500, 1000
BYTES = 4 * INPUTS * OUTPUTS
MOST = 1.3
"""Times read() of the file into warm memory: the bound of the C API."""


def varint(value: int) -> bytes:
    """A number in protobuf's format."""
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7F | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, value: bytes) -> bytes:
    """A field with its length before it."""
    return varint(number << 3 | 2) + varint(len(value)) + value


def write(folder: Path) -> Path:
    """Writes the model, and the net that pycaffe needs for it."""
    values = (b"\0\0\x80\x3f" + b"\0\0\0\x40") * (BYTES // 8)
    blob = field(7, field(5, values) + field(7, field(1, varint(OUTPUTS) + varint(INPUTS))))
    net = f'layer {{ name: "in" type: "Input" top: "x" input_param {{ shape {{ dim: 1 dim: {INPUTS} }} }} }}\n'
    with open(folder / "big.caffemodel", "wb") as file:
        for number in range(LAYERS):
            name = f"ip{number}"
            file.write(field(100, field(1, name.encode()) + field(2, b"InnerProduct") + blob))
            net += (
                f'layer {{ name: "{name}" type: "InnerProduct" bottom: "x" top: "{name}" '
                f"inner_product_param {{ num_output: {OUTPUTS} bias_term: false }} }}\n"
            )
    (folder / "big.prototxt").write_text(net)
    return folder / "big.caffemodel"


def reader(name: str, file: str):
    """A function that reads all of the file once."""
    if name == "read":
        memory = bytearray(os.path.getsize(file))
        memory[::4096] = b"\1" * len(memory[::4096])

        def read() -> None:
            with open(file, "rb", buffering=0) as opened:
                rest = memoryview(memory)
                while rest:
                    rest = rest[opened.readinto(rest) :]

        return read
    if name in ("c", "python"):
        import syncedmem
        from syncedmem import ffi, lib

        if name == "python":
            return lambda: syncedmem.load_caffemodel(file)
        memories = [syncedmem.SyncedMemory(BYTES) for _ in range(LAYERS)]
        for memory in memories:
            memory.mutable_cpu_data()[:] = 1
        opened = ffi.new("syncedmem_model_t **")

        def c() -> None:
            statuses = [lib.syncedmem_model_open(file.encode(), opened)]
            for layer, memory in enumerate(memories):
                statuses.append(lib.syncedmem_model_read_blob(opened[0], layer, 0, 0, 0, memory.handle))
            statuses.append(lib.syncedmem_model_close(opened[0]))
            assert not any(statuses)

        return c
    import caffe
    import numpy
    from caffe.proto import caffe_pb2

    if name == "pycaffe":
        return lambda: caffe.Net(str(Path(file).with_suffix(".prototxt")), caffe.TEST, weights=file)

    def protobuf() -> None:
        net = caffe_pb2.NetParameter()
        with open(file, "rb") as opened:
            net.ParseFromString(opened.read())
        for layer in net.layer:
            numpy.array(layer.blobs[0].data, "f4")

    return protobuf


def run_one(name: str, file: str, rounds: int) -> None:
    """Measures one reader."""
    read, times = reader(name, file), []
    for _ in range(rounds):
        begin = time.perf_counter()
        read()
        times.append(time.perf_counter() - begin)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    print(json.dumps({"seconds": times, "peak": peak}))


READERS = {
    "read": "`read()` of the file into warm memory",
    "c": "C API into warm objects",
    "python": "`load_caffemodel`",
    "pycaffe": "pycaffe: `caffe.Net` with weights",
    "protobuf": "protobuf's Python package",
}


def main() -> int:
    """Measures all readers, in turn, and prints a table."""
    options = argparse.ArgumentParser()
    options.add_argument("--python", required=True)
    options.add_argument("--pycaffe", required=True)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--check", action="store_true")
    chosen = options.parse_args()
    found: dict[str, list[dict]] = {name: [] for name in READERS}
    with tempfile.TemporaryDirectory() as temporary:
        file = write(Path(temporary))
        for turn in range(1 if chosen.quick else 3):
            for name in READERS:
                if name == "protobuf" and turn > 0:
                    continue  # It takes minutes, and hardly varies.
                theirs = name in ("pycaffe", "protobuf")
                command = chosen.pycaffe.split() if theirs else [chosen.python]
                rounds = "1" if theirs else "5"
                run = subprocess.run(
                    [*command, "-B", __file__, name, str(file), rounds], check=True, capture_output=True, text=True
                )
                found[name].append(json.loads(run.stdout.splitlines()[-1]))
        size = file.stat().st_size
    print(f"A model of {size / 1e6:.0f} MB in {LAYERS} layers, in the page cache: opened, and every blob read\n")
    print("| Reader | seconds | times `read()` | peak memory, times the file |\n|---|---|---|---|")
    seconds = {name: statistics.median(s for run in runs for s in run["seconds"]) for name, runs in found.items()}
    for name, words in READERS.items():
        ratio, peak = seconds[name] / seconds["read"], max(run["peak"] for run in found[name]) / size
        print(f"| {words} | {seconds[name]:.3f} | {ratio:.2f} | {peak:.2f} |")
    if chosen.check and seconds["c"] > MOST * seconds["read"]:
        print(f"the C API takes more than {MOST} times read()", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] in READERS:
        run_one(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main())
