"""Nets in GPU mode that threads make, reshape, read and drop: some by hand, some in cycles, which the garbage collector ends in whichever
thread it runs. Prints a digest of all that each thread read; they depend on no order.

usage: pycaffe.py NET THREADS ROUNDS DEVICES, with Caffe's module _caffe on the path
"""

import gc
import hashlib
import sys
import threading

import _caffe
import numpy

TRAIN = 0


class Kept:
    """A net in a cycle, which reference counts do not end."""

    def __init__(self, net: _caffe.Net) -> None:
        self.net = net
        self.itself = self


def arrays(net: _caffe.Net) -> "list[numpy.ndarray]":
    """The data and gradients of all blobs and weights, from the device."""
    blobs = list(net._blobs) + [blob for layer in net.layers for blob in layer.blobs]
    return [array for blob in blobs for array in (blob.data, blob.diff)]


def work(number: int, prototxt: str, rounds: int, devices: int, digests: "dict[int, str]") -> None:
    """Makes a net in each round, and reads it at several sizes."""
    _caffe.set_mode_gpu()
    _caffe.set_device(number % devices)
    chance = numpy.random.RandomState(number)
    digest = hashlib.sha256()
    outliving = None
    for round in range(rounds):
        _caffe.set_random_seed(100 * number + round)
        net = _caffe.Net(prototxt, TRAIN)
        last = len(net.layers) - 1
        for step in range(3):
            shape = (1 + step, 3, 16 + 9 * ((number + round + step) % 4), 20)
            net._blobs[0].reshape(*shape)
            net.reshape()
            net._blobs[0].data[...] = chance.standard_normal(shape)
            net._forward(0, last)
            output = net._blobs[len(net._blobs) - 1]
            output.diff[...] = output.data
            net._backward(last, 0)
            for array in arrays(net):
                digest.update(array.tobytes())
        # An array of the round before, whose net is gone.
        if outliving is not None:
            digest.update(outliving.tobytes())
        outliving = net._blobs[1].data
        if round % 2 == 0:
            Kept(net)
        del net, output, array
        if round % 3 == number % 3:
            gc.collect()
    digests[number] = digest.hexdigest()


def main() -> None:
    prototxt, (threads, rounds, devices) = sys.argv[1], map(int, sys.argv[2:])
    # Threads take turns in the middle of a round, and the collector runs often.
    sys.setswitchinterval(1e-4)
    gc.set_threshold(200)
    digests: "dict[int, str]" = {}
    workers = [threading.Thread(target=work, args=(i, prototxt, rounds, devices, digests)) for i in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    gc.collect()
    for number, digest in sorted(digests.items()):
        print(f"thread {number}: {digest}")
    if len(digests) != threads:
        sys.exit("a thread broke off")


main()
