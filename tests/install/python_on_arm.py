"""Uses the package in a folder as a program does: a blob, a model file, a recording and its report. Arguments: the folder, a .caffemodel."""

import platform
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import numpy  # noqa: E402
import syncedmem  # noqa: E402

assert platform.machine() == "aarch64", platform.machine()
with tempfile.TemporaryDirectory() as folder:
    recording = Path(folder, "recording")
    with syncedmem.trace(recording):
        blob = syncedmem.Blob((3, 256, 1024))
        blob.data[...] = 2
        assert blob.asum_data() == 2 * blob.count, blob
        with syncedmem.open_caffemodel(sys.argv[2]) as model:
            sums = {name: float(numpy.abs(part.read()).sum()) for name, part in model.blobs()}
    report = syncedmem.Report(recording)
    assert "3.0 MiB" in str(report) and len(report.data["processes"]) == 1, report
print(f"works: {len(sums)} blobs of a model, and a report of {len(str(report))} letters")
