"""graphs.py SECONDS SEED THREADS: graphs of Python objects with cycles, whose finalisers use the package's objects.

Every item has memory that is full of one value. Finalisers come in any order, on any thread: they check values, write
others, grow memory, pass items on and bring nodes back to life. It fails if one meets an error or a foreign value, if
memory is left, or if the finalisers at the end of the interpreter meet anything.
"""

import builtins
import gc
import os
import random
import sys
import threading
import time
import weakref

import numpy as np
import syncedmem
from syncedmem import Blob, SyncedMemory, Tensor, Workspace

seconds, seed, threads = float(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
SIZES = [1, 8, 100, 5000, 70_000]


def fail(unraisable, write=os.write, leave=os._exit):
    write(2, f"a finaliser met {unraisable.exc_value!r} in {unraisable.object!r}\n".encode())
    leave(1)


sys.unraisablehook = fail


# --- items ---------------------------------------------------------------------------------------


def tensor(size):
    made = Tensor(size)
    made.mutable_data("f4")
    return made


def workspace(size):
    made = Workspace(Workspace())
    made["x"] = np.zeros(size, "f4")
    return Workspace.from_handle(Workspace(made).handle)


# How an object of a size is made, and its memory as an array for writing.
KINDS = {
    "memory": (lambda size: SyncedMemory(4 * size), lambda mem: mem.array("f4").mutable_cpu_data()),
    "view": (lambda size: SyncedMemory(4 * size).array("f4"), lambda view: view.mutable_cpu_data()),
    "access": (lambda size: SyncedMemory(4 * size).array("f4").mutable_cpu(), np.asarray),
    "entered": (lambda size: SyncedMemory(4 * size).array("f4").mutable_cpu(), lambda access: access.__enter__()),
    "array": (lambda size: SyncedMemory(4 * size).array("f4").mutable_cpu_data(), lambda array: array),
    "memoryview": (lambda size: SyncedMemory(4 * size).mutable_cpu_data().data, lambda of: np.frombuffer(of, "f4")),
    "lent": (lambda size: syncedmem.from_dlpack(np.zeros(size, "f4")), lambda view: view.mutable_cpu_data()),
    "lent twice": (
        lambda size: syncedmem.from_dlpack(SyncedMemory(4 * size).array("f4").mutable_cpu()),
        lambda view: view.mutable_cpu_data(),
    ),
    "blob": (Blob, lambda blob: blob.data.mutable_cpu_data()),
    "blob's memory": (lambda size: Blob(size).diff.memory, lambda mem: mem.array("f4").mutable_cpu_data()),
    "tensor": (tensor, lambda tensor: tensor.mutable_data()),
    "tensor's array": (lambda size: tensor(size).mutable_data(), lambda array: array),
    "workspace": (workspace, lambda ws: ws["x"].mutable_data()),
    "workspace's tensor": (lambda size: workspace(size)["x"], lambda tensor: tensor.mutable_data()),
}
GROWS = {Blob: lambda blob: blob.reshape(2 * blob.count), Tensor: lambda tensor: tensor.extend(tensor.size)}


class Item:
    def __init__(self, chance):
        self.kind = chance.choice(list(KINDS))
        make, self.array = KINDS[self.kind]
        self.held, self.busy = make(chance.choice(SIZES)), threading.Lock()
        self.fill(chance)

    def fill(self, chance):
        self.value = chance.randrange(1 << 20)
        self.array(self.held)[...] = self.value

    def use(self, chance):
        # Another thread may use it, or this one, if a collection began inside a use.
        if not self.busy.acquire(blocking=False):
            return
        seen = self.array(self.held)
        if not (seen == self.value).all():
            raise AssertionError(f"{self.kind} of {self.value} has {seen}")
        grow = GROWS.get(type(self.held))
        if grow is not None and chance.random() < 0.3:
            grow(self.held)
        self.fill(chance)
        self.busy.release()


# --- graphs --------------------------------------------------------------------------------------

# Nodes that finalisers brought back to life, and weak references that they made.
saved, references = [], []


class Node:
    def __init__(self, chance):
        self.chance, self.links = chance, []
        self.items = [Item(chance) for _ in range(chance.randrange(3))]

    def __del__(self):
        chance, near = self.chance, [self, *self.links]
        for node in near:
            for item in node.items:
                item.use(chance)
        other = chance.choice(near)
        what = chance.randrange(8)
        if what == 0:
            saved.append(other)
        elif what == 1:
            references.append(weakref.ref(chance.choice(other.items or [self])))
        elif what == 2:
            other.items.append(Item(chance))
            self.items, other.items = other.items, self.items
        elif what == 3:
            other.links.append(Node(chance))
        elif what == 4:
            self.items.clear()


def suspended(item, chance):
    try:
        yield
    finally:
        item.use(chance)


def build(chance):
    nodes = [Node(chance) for _ in range(chance.randrange(1, 9))]
    for node in nodes:
        node.links += chance.choices(nodes, k=chance.randrange(1, 4))
        if node.items and chance.random() < 0.3:
            node.generator = suspended(chance.choice(node.items), chance)
            next(node.generator)
            node.links.append(node)
        for item in node.items:
            weakref.finalize(item, int)
    return nodes


def churn(number):
    chance, end = random.Random(f"{seed} {number}"), time.monotonic() + seconds
    count = 0
    while time.monotonic() < end:
        nodes = build(chance)
        count += len(nodes)
        if saved and chance.random() < 0.5:
            nodes[0].links.append(saved.pop())
        for reference in references[-3:]:
            # A use that changes nothing: the graph may be in use on another thread, or being taken apart.
            try:
                repr(getattr(reference(), "held", None))
            except AttributeError as error:
                if "the garbage collector has taken it apart" not in str(error):
                    raise
        del references[:-3]
        if chance.random() < 0.1:
            gc.collect()
    counts.append(count)


counts = []
# Collections pass over what the imports made.
gc.freeze()
gc.set_threshold(200, 3, 3)
workers = [threading.Thread(target=churn, args=(number,)) for number in range(threads)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
while saved or gc.collect():
    del saved[:]
left = syncedmem.stats().pageable.live
print(f"{sum(counts)} nodes on {threads} threads")
if len(counts) != threads or left:
    sys.exit(f"{threads - len(counts)} threads failed, and {left} bytes are left")
# At the end of the interpreter.
kept = build(random.Random(seed))
builtins.kept = build(random.Random(seed + 1))
