"""Run by pycaffe: two steps forward and backward through a net, and a digest of every blob."""

import hashlib
import sys

import caffe
import numpy

NET = """
name: "digest"
force_backward: true
layer { name: "data" type: "Input" top: "data" top: "label"
  input_param { shape { dim: 4 dim: 3 dim: 20 dim: 20 } shape { dim: 4 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 8 kernel_size: 3
    weight_filler { type: "gaussian" std: 0.1 } bias_filler { type: "constant" value: 0.1 } } }
layer { name: "relu" type: "ReLU" bottom: "conv" top: "conv" }
layer { name: "pool" type: "Pooling" bottom: "conv" top: "pool" pooling_param { pool: AVE global_pooling: true } }
layer { name: "scores" type: "InnerProduct" bottom: "pool" top: "scores"
  inner_product_param { num_output: 5 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "scores" bottom: "label" top: "loss" }
"""


def digests(net_file: str) -> "list[str]":
    """One line for each blob and weight of the net, data and gradient, after two steps."""
    caffe.set_mode_cpu()
    caffe.set_random_seed(1)
    with open(net_file, "w") as out:
        out.write(NET)
    net = caffe.Net(net_file, caffe.TRAIN)
    chance = numpy.random.RandomState(2)
    lines = []
    for step in range(2):
        # The second step is larger: Caffe makes new memory for what grows, some of it above 2 MiB.
        shape = (4 + 2 * step, 3, 20 + 100 * step, 20 + 100 * step)
        net.blobs["data"].reshape(*shape)
        net.blobs["label"].reshape(shape[0])
        net.blobs["data"].data[...] = chance.standard_normal(shape)
        net.blobs["label"].data[...] = chance.randint(0, 5, shape[0])
        net.reshape()
        net.forward()
        net.backward()
        blobs = list(net.blobs.items())
        blobs += [(f"{name} weights {i}", blob) for name, ws in net.params.items() for i, blob in enumerate(ws)]
        for name, blob in blobs:
            for part, array in (("data", blob.data), ("diff", blob.diff)):
                digest = hashlib.sha256(numpy.ascontiguousarray(array).tobytes()).hexdigest()
                lines.append(f"{step} {name} {part} {array.shape} {digest}")
    return lines


if __name__ == "__main__":
    print("\n".join(digests("digest.prototxt")))
    sys.stdout.flush()
