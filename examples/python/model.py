"""The layers of a Caffe model and their values, without Caffe and without protobuf."""

import sys

import numpy as np
import syncedmem

status = syncedmem.cuda_status()
if not status.available:
    sys.exit(status.sentence)

with syncedmem.open_caffemodel(sys.argv[1] if len(sys.argv) > 1 else "examples/small.caffemodel") as model:
    for layer in model.layers:
        print(f"{layer.name} ({layer.type}): {len(layer.blobs)} blobs")
        for blob in layer.blobs:
            array = blob.read(np.float32)
            print(f"  {blob.index}: {blob.size} values, the first {array.cpu_data().flat[0]:g}")
            array.gpu_data()  # on the device, like any other data
