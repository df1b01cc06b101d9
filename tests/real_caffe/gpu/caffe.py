"""What ../pycaffe_layers.py uses of Caffe's Python package, on its module _caffe alone: the package needs SciPy and a dozen others. It is in
GPU mode."""

from _caffe import Net, SGDSolver, set_mode_gpu, set_random_seed

__all__ = ["TEST", "TRAIN", "Net", "SGDSolver", "set_mode_cpu", "set_random_seed"]
TRAIN, TEST = 0, 1
set_mode_cpu = set_mode_gpu


def forward(net: Net) -> dict:
    net._forward(0, len(net.layers) - 1)
    return {name: net.blobs[name].data for name in net.outputs}


Net.blobs = property(lambda net: dict(zip(net._blob_names, net._blobs)))
Net.outputs = property(lambda net: [net._blob_names[number] for number in net._outputs])
Net.params = property(lambda net: {name: layer.blobs for name, layer in zip(net._layer_names, net.layers) if len(layer.blobs)})
Net.forward = forward
