"""Checks of small programs that are unlucky, or hostile, with names and with shared memory."""

from __future__ import annotations

from typing import Callable

import sharing
from checking import Checks
from tree import Finished

SETTINGS = ("off", *sharing.SETTINGS)
MAKE = '''
import ctypes, gc, sys
import caffe
def net(text, phase=caffe.TEST):
    with open("net.prototxt", "w") as out:
        out.write(text)
    return caffe.Net("net.prototxt", phase)
def source(name, *shape):
    return f'layer {{ name: "{name}" type: "Input" top: "{name}" input_param {{ shape {{ {" ".join(f"dim: {size}" for size in shape)} }} }} }}\\n'
def layer(name, kind, bottoms, parameters="", top=None):
    ends = " ".join(f'bottom: "{blob}"' for blob in bottoms.split())
    return f'layer {{ name: "{name}" type: "{kind}" {ends} top: "{top or name}" {parameters} }}\\n'
CONVOLUTION = "convolution_param { num_output: 4 kernel_size: 3 pad: 1 }"
TWO = source("data", 2, 3, 8, 8) + layer("c1", "Convolution", "data", CONVOLUTION) + layer("c2", "Convolution", "c1", CONVOLUTION)
'''
INNER_NET = '''
lstm = layer("l", "LSTM", "x cont", 'recurrent_param { num_output: 4 weight_filler { type: "uniform" } }')
for _ in range(10):
    one, other = net(TWO), net(TWO)
    one.forward(), other.forward()
    del one, other
    made = net(source("x", 3, 2, 5) + source("cont", 3, 2) + lstm)
    made.forward()
    made.blobs["x"].reshape(3, 9, 5), made.blobs["cont"].reshape(3, 9)
    made.reshape()
    made.forward()
    del made
print("done")
'''
AGAIN = '''
class Malloc(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
mallinfo2 = ctypes.CDLL(None).mallinfo2
mallinfo2.restype = Malloc
def make(number):
    unique = f"_{number:06}" if sys.argv[1] == "unique" else ""
    text, blob = source("data", 2, 3, 8, 8), "data"
    for at in range(10):
        text += layer(f"c{at}{unique}", "Convolution", blob, "convolution_param { num_output: 4 kernel_size: 1 }")
        blob = f"c{at}{unique}"
        text += layer(f"r{at}{unique}", "ReLU", blob, "", blob)
    made = net("force_backward: true\\n" + text, caffe.TRAIN)
    made.forward(), made.backward()
used = []
for number in range(601):
    make(number)
    if number % 200 == 0:
        gc.collect()
        info = mallinfo2()
        used.append(info.uordblks + info.hblkhd)
print(used[3] - used[2])
'''
RESHAPED = '''
text, blob = source("data", 4, 1, 8, 8), "data"
for at in range(8):
    text += layer(f"b{at}", "Exp", blob, f"exp_param {{ scale: 0 shift: {at + 1} }}")
    blob = f"b{at}"
made = net(text)
def size(batch):
    made.blobs["data"].reshape(batch, 1, 8, 8)
    made.reshape()
size(4)
made.forward()
size(1)
made._forward(0, 4)
size(4)
print(*sorted(set(made.blobs["b3"].data.ravel().astype(float).round(2).tolist())))
'''
NAMED = r'''
name = r"\033]0;TITLE\007\033[31mred\nlibsyncedmem: forged"
made = net(TWO.replace('"c1"', f'"{name}"') + layer("c3", "Convolution", "c2", CONVOLUTION, name + "2"))
made.forward()
try:
    print(next(blob for name, blob in made.blobs.items() if name.endswith("forged")).data.shape)
except RuntimeError as error:
    print("an escape" if "\x1b" in str(error) else "no escape", "is gone" in str(error))
'''
KEPT = '''
made = net(TWO)
made.forward()
try:
    print(made.blobs["c1"].data.shape)
except RuntimeError:
    print("gone")
'''


def run(checks: Checks, program: str, *arguments: str, share: str = "all", **settings: str) -> Finished:
    settings = {"GLOG_minloglevel": "2", **sharing.sharing(checks, share), **settings}
    return checks.caffe.run([checks.caffe.part("python"), "-c", MAKE + program, *arguments], checks.folder, settings=settings)


def a_net_at_a_dead_ones_address_has_nothing_of_it(checks: Checks) -> str:
    """an LSTM, whose inner net lies where a net ended, runs and is reshaped"""
    for share in SETTINGS:
        ended = run(checks, INNER_NET, share=share)
        assert (ended.status, ended.out) == (0, "done\n"), f"{share}: {ended.ending()}"
    return ", ".join(SETTINGS)


def nets_made_again_and_again_leave_nothing(checks: Checks) -> str:
    """two hundred nets more, made, run and ended, leave nothing in memory, with the same names or with new ones"""
    said = []
    for share, names in (("off", "unique"), ("gradients", "same"), ("all", "unique")):
        ended = run(checks, AGAIN, names, share=share)
        assert ended.status == 0, f"{share}: {ended.ending()}"
        said.append(f"{share} {names} {ended.out.strip()}")
        assert int(ended.out) < 8192, f"{said} bytes more"
    return ", ".join(said) + " bytes"


def a_blob_reshaped_within_its_memory_shows_no_other_blobs_contents(checks: Checks) -> str:
    """a blob that is made larger within its memory holds its layer's values, and behind them zeros or its own older ones"""
    ended = run(checks, RESHAPED, SYNCEDMEM_JUNK_FILL="off")
    assert ended.out in ("0.0 54.6\n", "54.6\n"), ended.ending()
    return ended.out.strip()


def names_reach_the_terminal_escaped(checks: Checks) -> str:
    """control characters in names and settings are escaped in errors, at the end and in a refusal, and forge no line"""
    ended = run(checks, NAMED)
    assert (ended.status, ended.out) == (0, "no escape True\n"), ended.ending()
    refused = run(checks, KEPT, share="\x1b[31mall")
    for err in (ended.err, refused.err):
        assert "\x1b" not in err and "\x07" not in err and "\nlibsyncedmem: forged" not in err, repr(err)
        assert r"\x1b" in err, err
    return "errors, the end, a refusal"


def settings_that_name_nothing_are_named(checks: Checks) -> str:
    """a name in SYNCEDMEM_KEEP that no net has is named, and a name that is not UTF-8 undoes no other"""
    for keep, read, words in (("nonexistent", "gone", '"nonexistent"'), ("c1,\udcff", "(2, 4, 8, 8)", r'"\xff"')):
        ended = run(checks, KEPT, SYNCEDMEM_KEEP=keep)
        assert ended.out.strip() == read, f"{keep!a}: {ended.ending()}"
        assert f"SYNCEDMEM_KEEP names {words}: no net had" in ended.err, ended.err
    refused = run(checks, KEPT, share="\udcff").err
    assert r"SYNCEDMEM_SHARE=\xff is not one of off gradients all" in refused, refused
    return "SYNCEDMEM_KEEP, SYNCEDMEM_SHARE"


ALL: list[Callable[[Checks], str]] = [
    a_net_at_a_dead_ones_address_has_nothing_of_it,
    nets_made_again_and_again_leave_nothing,
    a_blob_reshaped_within_its_memory_shows_no_other_blobs_contents,
    names_reach_the_terminal_escaped,
    settings_that_name_nothing_are_named,
]
