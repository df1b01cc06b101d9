"""Programs of Caffe's users for pycaffe, which runs them in a folder with the prototxt files of nets.py.

usage: pycaffe.py save NET | load | passes NET COUNT | timed NET COUNT | trained NET COUNT | nets COUNT | images COUNT | detector COUNT

Each line that they print holds a hash of one result.
"""

import hashlib
import random
import sys
import time

import caffe
import numpy


def show(values):
    print("result", hashlib.sha256(numpy.ascontiguousarray(values).tobytes()).hexdigest()[:16], flush=True)


def output(net):
    """The last blob after a forward pass."""
    return list(net.forward().values())[0]


def image_sizes(count):
    """Heights and widths of images, the same in every run."""
    chance = random.Random(50)
    return [(8 * chance.randint(16, 40), 8 * chance.randint(16, 40)) for _ in range(count)]


def image(height, width):
    """Numbers that differ from place to place."""
    return (numpy.arange(3 * height * width, dtype=numpy.float32) % 251 / 251).reshape(1, 3, height, width)


def reshape(net, values):
    net.blobs["data"].reshape(*values.shape)
    net.reshape()
    net.blobs["data"].data[...] = values


def random_net(name):
    """A net with random weights, the same in every run."""
    caffe.set_random_seed(1)
    net = caffe.Net(f"{name}.prototxt", caffe.TEST)
    for layer in net.layers:
        if layer.type == "BatchNorm":
            # A variance of 1. The initial 0 would make every layer enlarge its input.
            layer.blobs[1].data[...] = layer.blobs[2].data[...] = 1
    return net


def save(name):
    """Writes a model with random weights."""
    net = random_net(name)
    net.save(f"{name}.caffemodel")
    show(next(iter(net.params.values()))[0].data)


def passes(name, count):
    """Passes through one net, each with other images."""
    net = random_net(name)
    for number in range(count):
        shape = net.blobs["data"].data.shape
        net.blobs["data"].data[...] = numpy.random.RandomState(number).uniform(-1, 1, shape)
        show(output(net))


def timed(name, count):
    """Runs one image `count` times."""
    net = random_net(name)
    net.blobs["data"].data[...] = numpy.random.RandomState(1).uniform(-1, 1, net.blobs["data"].data.shape)
    time_each(count, lambda: output(net))


def trained(name, count):
    """Makes iterations of a solver."""
    solver = caffe.get_solver(f"{name}-solver.prototxt")

    def iteration():
        solver.step(1)
        return list(solver.net.blobs.values())[-1].data

    time_each(count, iteration)


def time_each(count, work):
    """Does the work `count` times. Prints the processor time of the first one, and the least of the others."""
    times = []
    for _ in range(count):
        before = time.process_time()
        result = work()
        times.append(time.process_time() - before)
        show(result)
    print("seconds first", times[0])
    print("seconds settled", min(times[1:]))


def load():
    net = caffe.Net("large.prototxt", caffe.TEST, weights="large-random.caffemodel")
    net.blobs["data"].data[...] = 1
    show(output(net))


def nets(count):
    """Makes and destroys nets, one after the other."""
    for _ in range(count):
        net = caffe.Net("alexnet.prototxt", caffe.TEST)
        net.blobs["data"].data[...] = 1
        show(output(net))
        del net


def images(count):
    """Images of different sizes through a fully convolutional net."""
    net = caffe.Net("fully_convolutional.prototxt", caffe.TEST)
    for size in image_sizes(count):
        reshape(net, image(*size))
        show(output(net))


def detector(count):
    """For each image: proposals, and a second net on the features around each of them."""
    net = caffe.Net("detector.prototxt", caffe.TEST)
    head = caffe.Net("detector-head.prototxt", caffe.TEST)
    chance = random.Random(7)
    for size in image_sizes(count):
        reshape(net, image(*size))
        scores = output(net)[0, 0]
        maps = net.blobs[list(net.blobs)[-2]].data[0]
        # The best places, as many as in a real image, away from the edge.
        inside = scores[3:-3, 3:-3]
        best = numpy.argsort(inside, axis=None, kind="stable")[-chance.randint(10, 150) :]
        rows, columns = numpy.unravel_index(best, inside.shape)
        crops = numpy.stack([maps[:, row : row + 7, column : column + 7] for row, column in zip(rows, columns)])
        reshape(head, crops)
        show(output(head))


def main():
    caffe.set_mode_cpu()
    globals()[sys.argv[1]](*(int(argument) if argument.isdigit() else argument for argument in sys.argv[2:]))


if __name__ == "__main__":
    main()
