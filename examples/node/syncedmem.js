// libsyncedmem for Node.js, by koffi. SPDX-License-Identifier: BSD-2-Clause
'use strict';

const buffer = require('node:buffer');
const fs = require('node:fs');
const path = require('node:path');
const koffi = require('koffi');

// The description of the API says all there is to know of C: nothing of it is typed in here.
const description = path.join(__dirname, '..', '..', 'include', 'syncedmem.json');
const api = JSON.parse(fs.readFileSync(description, 'utf8'));

/** Every number that C has a name for. */
const constants = {};
for (const { name, value } of api.constants) constants[name] = value;
for (const { values } of api.enums) for (const { name, value } of values) constants[name] = value;
Object.freeze(constants);

/** The name of a number of one of C's enumerations. */
function nameOf(enumeration, value) {
  const found = api.enums.find(({ name }) => name === enumeration).values.find((each) => each.value === value);
  return found ? found.name : String(value);
}

for (const { name } of api.opaque) koffi.opaque(name);
for (const { name, type } of api.enums) koffi.alias(name, type);
const callbacks = new Map();
for (const { name, returns, parameters } of api.callbacks) {
  const types = parameters.map(({ type }) => type);
  callbacks.set(name, koffi.pointer(koffi.proto(name, returns, types)));
}
const structs = new Set(api.structs.map(({ name }) => name));
for (const { name, fields } of api.structs) {
  koffi.struct(name, Object.fromEntries(fields.map((field) => [field.name, callbacks.get(field.type) || field.type])));
}

/** A parameter as koffi wants it: what C writes through a pointer is an array of one, or the structure itself. */
function parameter(c) {
  if (callbacks.has(c)) return callbacks.get(c);
  // Text that C writes goes into a Buffer.
  if (c === 'char *') return koffi.pointer('uint8_t');
  // An array of texts that C reads.
  if (c === 'const char *const *') return koffi.type('const char **');
  const [, to, pointers] = /^(?:const )?(\w+) ?(\**)$/.exec(c);
  if (pointers === '*' && structs.has(to) && !c.startsWith('const ')) return koffi.inout(koffi.type(c));
  const opaque = to === 'void' || api.opaque.some(({ name }) => name === to);
  const written = pointers === '**' || (pointers === '*' && !opaque && !c.startsWith('const '));
  return written ? koffi.out(koffi.type(c)) : koffi.type(c);
}

// The library that SYNCEDMEM_LIBRARY names; else the one that the process has already (a preload) or the system finds.
const file = process.env.SYNCEDMEM_LIBRARY || 'libsyncedmem.so.0';
const library = koffi.load(file);

/** Every function of the C API, under its own name. Addresses and numbers are the caller's affair, as they are in C. */
const lib = {};
for (const { name, returns, parameters } of api.functions) {
  lib[name] = library.func(name, returns, parameters.map(({ type }) => parameter(type)));
}
Object.freeze(lib);
if (lib.syncedmem_version() !== api.version) {
  throw new Error(`${file} is version ${lib.syncedmem_version()}, and this was made for ${api.version}`);
}

/** The library refused: C's status, its name as the code, and the library's sentence. */
class SyncedmemError extends Error {
  constructor(status, sentence) {
    super(sentence);
    this.name = this.constructor.name;
    this.status = status;
    this.code = nameOf('syncedmem_status_t', status);
  }
}

/** Host or device memory ran out. */
class OutOfMemoryError extends SyncedmemError {}

/** Makes what C returned an exception if it was an error. Of a call by `.async` the sentence is on another thread. */
function check(status) {
  if (status === constants.SYNCEDMEM_SUCCESS) return;
  const Kind = status === constants.SYNCEDMEM_ERROR_OUT_OF_MEMORY ? OutOfMemoryError : SyncedmemError;
  throw new Kind(status, lib.syncedmem_last_error());
}

/** Whether there is a GPU to use, and the driver's version and devices, or why not and what to do. */
function cudaStatus() {
  const sentence = [null];
  const available = lib.syncedmem_cuda_status(sentence) === constants.SYNCEDMEM_SUCCESS;
  return { available, sentence: sentence[0] };
}

/** The statistics so far: the members of C's structure. */
function stats() {
  const members = { size: koffi.sizeof('syncedmem_stats_t') };
  check(lib.syncedmem_stats(members));
  return members;
}

// DLManagedTensorVersioned of DLPack 1.0 on a 64-bit system: two uint32_t of version, the manager's pointer, the
// deleter, 64 bits of flags, and the tensor, which begins with the address of its data.
const DELETER = 16;
const DATA = 32;
const UINT = 1;
const Deleter = koffi.proto('void (void *)');

/** Ends a tensor of syncedmem_to_dlpack: its deleter is native code. */
function end(tensor) {
  koffi.call(koffi.decode(tensor, DELETER, 'void *'), Deleter, tensor);
}

// This code must not throw: that would end the process.
const forgottenMemory = new FinalizationRegistry((handle) => lib.syncedmem_destroy(handle));
const forgottenTensors = new FinalizationRegistry(end);

function refuseTransfer() {
  throw new TypeError('memory of a SyncedMemory cannot be transferred: copy it');
}

/** An address on the device, for others that speak CUDA: valid until this is closed, or forgotten. */
class DeviceData {
  #tensor;
  #address;

  constructor(tensor, bytes) {
    this.#tensor = tensor;
    this.#address = koffi.decode(tensor, DATA, 'uint64_t');
    this.bytes = bytes;
    Object.freeze(this);
    forgottenTensors.register(this, tensor, this);
  }

  /** The address, which the host cannot follow; 0n for no bytes. Keep this object for as long as it is used. */
  get address() {
    if (this.#tensor === null) throw new Error('this DeviceData is closed');
    return BigInt(this.#address);
  }

  /** The address is not used any more. What is closed already stays so. */
  close() {
    const tensor = this.#tensor;
    if (tensor === null) return;
    this.#tensor = null;
    forgottenTensors.unregister(this);
    end(tensor);
  }
}

/**
 * Memory with a host side and a device side: each is allocated when it is first touched, and copied only when the other
 * is newer.
 *
 * The ArrayBuffers that it gives out cannot dangle: each keeps its memory, also after close(), until it is garbage; the
 * memory ends with the last of them. JavaScript cannot enforce that what cpuData() gives is only read: what is written
 * to it may never reach the device. What is written to any of them after the device's data was asked for is lost, as it
 * is in C: ask for mutableCpuData() anew before that. And none is to be given to ArrayBuffer.prototype.transfer by way
 * of call(): its own transfer() refuses.
 *
 * An object that is never closed ends when it is garbage; the collector does not know how large it is, and does not run when a
 * worker ends: close what is large, and what a worker made. What garbage held is given back between turns of the event
 * loop, not within one.
 * And let a worker end by itself: terminate() in the middle of a call of koffi's, of whichever library, can end the
 * process.
 */
class SyncedMemory {
  #handle;
  #size;

  constructor(bytes) {
    if (!Number.isSafeInteger(bytes) || bytes < 0) throw new RangeError(`a size of ${String(bytes)} bytes`);
    const mem = [null];
    check(lib.syncedmem_create(bytes, mem));
    this.#handle = mem[0];
    this.#size = bytes;
    forgottenMemory.register(this, mem[0], this);
  }

  /** How many bytes each side has. */
  get size() {
    return this.#size;
  }

  /** Where the newest data is: 'UNINITIALIZED', 'HEAD_AT_CPU', 'HEAD_AT_GPU' or 'SYNCED'. */
  get head() {
    const head = [null];
    this.call((handle) => lib.syncedmem_head(handle, head));
    return nameOf('syncedmem_head_t', head[0]).replace('SYNCEDMEM_', '');
  }

  /** How many ArrayBuffers of the host's side are alive, and how many addresses of the device's. */
  get exports() {
    const host = [null];
    const device = [null];
    this.call((handle) => lib.syncedmem_exports(handle, host, device));
    return { host: host[0], device: device[0] };
  }

  /** The host's data, or a part of it, to read. */
  cpuData(offset = 0, bytes = this.#size - offset) {
    return this.#host(constants.SYNCEDMEM_READ, offset, bytes);
  }

  /** The host's data to read and write; the host is the newest side afterwards. */
  mutableCpuData(offset = 0, bytes = this.#size - offset) {
    return this.#host(constants.SYNCEDMEM_WRITE, offset, bytes);
  }

  /** The host's data, all of it to be written: neither zeroed nor copied. */
  overwriteCpuData(offset = 0, bytes = this.#size - offset) {
    return this.#host(constants.SYNCEDMEM_OVERWRITE, offset, bytes);
  }

  /** The device's data, to read. */
  gpuData() {
    return this.#device(constants.SYNCEDMEM_READ);
  }

  /** The device's data, to read and write; the device is the newest side afterwards. */
  mutableGpuData() {
    return this.#device(constants.SYNCEDMEM_WRITE);
  }

  /** The device's data, all of it to be written. */
  overwriteGpuData() {
    return this.#device(constants.SYNCEDMEM_OVERWRITE);
  }

  /** Names its memory in reports and traces. */
  setName(name) {
    if (typeof name !== 'string') throw new TypeError('a name is a string');
    if (name.includes('\0')) throw new RangeError('a name with a NUL in it');
    this.call((handle) => lib.syncedmem_set_name(handle, name));
  }

  /** Any other function of the API: it gets the handle, which it must neither keep nor end, and returns C's status. */
  call(body) {
    if (this.#handle === null) throw new Error('this SyncedMemory is closed');
    check(body(this.#handle));
  }

  /** Ends it; its memory ends with the last ArrayBuffer that is alive. What is closed already stays so. */
  close() {
    const handle = this.#handle;
    if (handle === null) return;
    this.#handle = null;
    forgottenMemory.unregister(this);
    check(lib.syncedmem_destroy(handle));
  }

  toString() {
    return this.#handle === null ? 'SyncedMemory(closed)' : `SyncedMemory(${this.#size} bytes, ${this.head})`;
  }

  /** One access, and what keeps its memory. */
  #export(side, access) {
    const tensor = [null];
    const shape = [this.#size];
    this.call((handle) => lib.syncedmem_to_dlpack(handle, side, access, UINT, 8, 1, shape, true, tensor));
    return tensor[0];
  }

  #host(access, offset, bytes) {
    // Before the access, which changes the head: what is refused has changed nothing.
    const whole = Number.isSafeInteger(offset) && Number.isSafeInteger(bytes);
    if (!whole || offset < 0 || bytes < 0 || offset > this.#size - bytes) {
      throw new RangeError(`${String(bytes)} bytes at ${String(offset)} of ${this.#size}`);
    }
    if (bytes > buffer.constants.MAX_LENGTH) {
      throw new RangeError(`${bytes} bytes: an ArrayBuffer has ${buffer.constants.MAX_LENGTH} at most; ask for a part`);
    }
    const tensor = this.#export(constants.SYNCEDMEM_HOST, access);
    try {
      const data = koffi.decode(tensor, DATA, 'uint64_t');
      const view = koffi.view(BigInt(data) + BigInt(offset), bytes);
      // It would take the memory along, and leave behind what keeps it. Node.js itself refuses other ways to transfer
      // it; to mark it as untransferable would end the process at its exit, in Node.js 24.
      for (const name of ['transfer', 'transferToFixedLength', 'transferToImmutable']) {
        Object.defineProperty(view, name, { value: refuseTransfer });
      }
      forgottenTensors.register(view, tensor);
      return view;
    } catch (failure) {
      end(tensor);
      throw failure;
    }
  }

  #device(access) {
    const tensor = this.#export(constants.SYNCEDMEM_DEVICE, access);
    try {
      return new DeviceData(tensor, this.#size);
    } catch (failure) {
      end(tensor);
      throw failure;
    }
  }
}

// `using` of newer JavaScript closes what has this.
if (Symbol.dispose) {
  for (const Kind of [SyncedMemory, DeviceData]) Kind.prototype[Symbol.dispose] = Kind.prototype.close;
}

module.exports = {
  SyncedMemory,
  DeviceData,
  SyncedmemError,
  OutOfMemoryError,
  check,
  constants,
  cudaStatus,
  lib,
  stats,
};
