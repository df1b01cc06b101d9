"""Run by pycaffe: asks for more memory than there may be, then goes on computing.

usage: pycaffe_out_of_memory.py address-space|library-limit

`address-space` lowers RLIMIT_AS to a little above what is in use, as `ulimit -v` would;
`library-limit` leaves that to SYNCEDMEM_HOST_LIMIT, set by the caller to 256M.
Prints one line for each thing that happened; the caller knows which lines there must be.
"""

import gc
import resource
import sys

import caffe
from pycaffe_compute import digests

ROOM = 256 << 20
# Nearly the largest blob that Caffe allows, INT_MAX elements: 8 GiB of floats.
ENORMOUS = (1, 1, 32768, 65535)

NET = """
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 1 dim: 1 dim: 8 dim: 8 } } }
layer { name: "conv" type: "Convolution" bottom: "data" top: "conv"
  convolution_param { num_output: 64 kernel_size: 3 weight_filler { type: "constant" value: 1 } } }
"""


def say(line: str) -> None:
    print(line, flush=True)


def limit_address_space() -> None:
    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + ROOM, used + ROOM))


def new_net() -> "caffe.Net":
    with open("memory.prototxt", "w") as out:
        out.write(NET)
    return caffe.Net("memory.prototxt", caffe.TEST)


def main() -> None:
    before = digests("digest.prototxt")
    net = new_net()
    if sys.argv[1] == "address-space":
        limit_address_space()

    net.blobs["data"].reshape(*ENORMOUS)
    say(f"asking for {4 * net.blobs['data'].count} bytes")
    try:
        net.blobs["data"].data
        say("touched it without an error")
    except MemoryError:
        say("MemoryError from touching a blob")

    # Here the input fits and the layer's output (256 MiB and more) does not, so that the error comes out of the
    # middle of Caffe's own code.
    net = new_net()
    net.blobs["data"].reshape(1, 1, 1030, 1030)
    net.blobs["data"].data[...] = 1
    try:
        net.forward()
        say("went forward without an error")
    except MemoryError:
        say("MemoryError from the middle of a layer")

    del net
    gc.collect()
    say("computes the same" if digests("digest.prototxt") == before else "computes something else")
    net = new_net()
    net.blobs["data"].data[...] = 1
    say("a new net works" if net.forward()["conv"][0, 0, 0, 0] == 9 else "a new net computes nonsense")


if __name__ == "__main__":
    main()
