// The walk of Caffe's tutorial on blobs, from Node.js by koffi, which reads the prototypes of syncedmem.h: which access copies, and which
// does not.
// SPDX-License-Identifier: BSD-2-Clause
'use strict';

const koffi = require('koffi');

// If a Caffe in the process runs on the library, this name finds the same file.
const library = koffi.load(process.env.SYNCEDMEM_LIBRARY || 'libsyncedmem.so.0');

koffi.opaque('syncedmem_t');
koffi.struct('sum', { count: 'uint64_t', bytes: 'uint64_t', nanoseconds: 'uint64_t' });
koffi.struct('memory', {
  live: 'uint64_t', peak: 'uint64_t', idle: 'uint64_t', budget: 'uint64_t',
  allocations: 'sum', pool_hits: 'sum', frees: 'sum',
});
// The members of syncedmem_stats_t up to the copies: the library writes as many bytes as `size` says.
koffi.struct('stats', {
  size: 'size_t', pageable: 'memory', pinned: 'memory', device: 'memory',
  to_device_pinned: 'sum', to_device_pageable: 'sum', to_host_pinned: 'sum', to_host_pageable: 'sum',
});

const create = library.func('int syncedmem_create(size_t size, _Out_ syncedmem_t **mem)');
const destroy = library.func('int syncedmem_destroy(syncedmem_t *mem)');
const cpuData = library.func('int syncedmem_cpu_data(syncedmem_t *mem, _Out_ void **data)');
const mutableCpuData = library.func('int syncedmem_mutable_cpu_data(syncedmem_t *mem, _Out_ void **data)');
const gpuData = library.func('int syncedmem_gpu_data(syncedmem_t *mem, _Out_ void **data)');
const mutableGpuData = library.func('int syncedmem_mutable_gpu_data(syncedmem_t *mem, _Out_ void **data)');
const headOf = library.func('int syncedmem_head(syncedmem_t *mem, _Out_ int32_t *head)');
const setAccounting = library.func('int syncedmem_set_accounting(int32_t accounting)');
const readStats = library.func('int syncedmem_stats(_Inout_ stats *stats)');
const cudaStatus = library.func('int syncedmem_cuda_status(_Out_ const char **sentence)');
const lastError = library.func('const char *syncedmem_last_error()');

const SYNCEDMEM_SUCCESS = 0;
const SYNCEDMEM_ACCOUNTING_ON = 1;
const HEADS = ['UNINITIALIZED', 'HEAD_AT_CPU', 'HEAD_AT_GPU', 'SYNCED'];

/** Throws the library's sentence if the call failed. */
function check(status) {
  if (status !== SYNCEDMEM_SUCCESS) throw new Error(lastError());
}

/** Returns the value that a call writes through its last argument. */
function result(call, ...args) {
  const out = [null];
  check(call(...args, out));
  return out[0];
}

let toGpu = 0;
let toCpu = 0;

/** Prints one line: the access, the side with the newest data, and the numbers of copies. */
function show(mem, access) {
  const all = { size: koffi.sizeof('stats') };
  check(readStats(all));
  const n = all.to_device_pinned.count + all.to_device_pageable.count;
  const m = all.to_host_pinned.count + all.to_host_pageable.count;
  const copied = n > toGpu ? 'data copied cpu->gpu' : m > toCpu ? 'data copied gpu->cpu' : 'no data copied';
  const head = HEADS[result(headOf, mem)];
  console.log(`${access.padEnd(18)} ${head.padEnd(13)} cpu->gpu ${n}, gpu->cpu ${m}   ${copied}`);
  toGpu = n;
  toCpu = m;
}

function walk() {
  const bytes = 1024 * Float32Array.BYTES_PER_ELEMENT;
  const mem = result(create, bytes);
  const bar = new Float32Array(koffi.view(result(mutableCpuData, mem), bytes));
  bar.fill(1);
  result(gpuData, mem); // data copied cpu->gpu
  console.log(`${bar.length} floats, ${bytes} bytes`);
  show(mem, 'gpu_data');
  result(cpuData, mem);
  show(mem, 'cpu_data');
  result(mutableGpuData, mem);
  show(mem, 'mutable_gpu_data');
  result(mutableGpuData, mem);
  show(mem, 'mutable_gpu_data');
  result(cpuData, mem);
  show(mem, 'cpu_data');
  result(gpuData, mem);
  show(mem, 'gpu_data');
  result(mutableCpuData, mem);
  show(mem, 'mutable_cpu_data');
  result(mutableGpuData, mem);
  show(mem, 'mutable_gpu_data');
  const data = new Float32Array(koffi.view(result(mutableCpuData, mem), bytes));
  show(mem, 'mutable_cpu_data');
  console.log(`first ${data[0]}, last ${data[data.length - 1]}`);
  check(destroy(mem)); // the memory of bar ends here: do not read it afterwards
}

const sentence = [null];
if (cudaStatus(sentence) === SYNCEDMEM_SUCCESS) {
  check(setAccounting(SYNCEDMEM_ACCOUNTING_ON));
  walk();
} else {
  console.error(sentence[0]);
  process.exitCode = 1;
}
