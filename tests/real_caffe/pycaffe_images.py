"""Run by pycaffe: makes a net for each batch of images, as a script does that builds its net where it needs it.

usage: pycaffe_images.py ROUNDS

Prints for each round of four nets its processor time in seconds, and a sum of what the nets gave. The nets have blobs of 44 MiB: glibc
takes blocks above 32 MiB from the system each time.
"""

import sys
import time

import caffe

NET = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 8 dim: 3 dim: 600 dim: 800 } } }
layer { name: "scaled" type: "Power" bottom: "data" top: "scaled" power_param { scale: 0.0078125 shift: 1 } }
layer { name: "relu" type: "ReLU" bottom: "scaled" top: "relu" }
layer { name: "mean" type: "Pooling" bottom: "relu" top: "mean" pooling_param { pool: AVE kernel_size: 2 stride: 2 } }
"""


def one_round() -> float:
    """The sum of what four nets give."""
    total = 0.0
    for _ in range(4):
        net = caffe.Net("images.prototxt", caffe.TEST)
        net.blobs["data"].data[...] = 1
        total += float(net.forward()["mean"].sum())
    return total


def main() -> None:
    caffe.set_mode_cpu()
    with open("images.prototxt", "w") as out:
        out.write(NET)
    one_round()
    for _ in range(int(sys.argv[1])):
        start = time.process_time()
        total = one_round()
        print(f"{time.process_time() - start:.4f} {total:.6f}", flush=True)


if __name__ == "__main__":
    main()
