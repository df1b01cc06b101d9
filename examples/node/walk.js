// The walk of Caffe's tutorial on blobs, from Node.js: which access copies, and which does not.
// SPDX-License-Identifier: BSD-2-Clause
'use strict';

const { SyncedMemory, check, constants, cudaStatus, lib, stats } = require('./syncedmem.js');

let toGpu = 0;
let toCpu = 0;

/** One line: the access, where the newest data is now, and the copies so far. */
function show(mem, access) {
  const all = stats();
  const n = all.to_device_pinned.count + all.to_device_staged.count + all.to_device_pageable.count;
  const m = all.to_host_pinned.count + all.to_host_staged.count + all.to_host_pageable.count;
  const copied = n > toGpu ? 'data copied cpu->gpu' : m > toCpu ? 'data copied gpu->cpu' : 'no data copied';
  console.log(`${access.padEnd(18)} ${mem.head.padEnd(13)} cpu->gpu ${n}, gpu->cpu ${m}   ${copied}`);
  toGpu = n;
  toCpu = m;
}

function walk() {
  // snippet:begin
  const mem = new SyncedMemory(1024 * Float32Array.BYTES_PER_ELEMENT);
  const bar = new Float32Array(mem.mutableCpuData());
  bar.fill(1);
  mem.gpuData(); // data copied cpu->gpu
  // snippet:end
  console.log(`${bar.length} floats, ${mem.size} bytes`);
  show(mem, 'gpu_data');
  mem.cpuData();
  show(mem, 'cpu_data');
  mem.mutableGpuData();
  show(mem, 'mutable_gpu_data');
  mem.mutableGpuData();
  show(mem, 'mutable_gpu_data');
  mem.cpuData();
  show(mem, 'cpu_data');
  mem.gpuData();
  show(mem, 'gpu_data');
  mem.mutableCpuData();
  show(mem, 'mutable_cpu_data');
  mem.mutableGpuData();
  show(mem, 'mutable_gpu_data');
  const data = new Float32Array(mem.mutableCpuData());
  show(mem, 'mutable_cpu_data');
  console.log(`first ${data[0]}, last ${data[data.length - 1]}`);
  // snippet:begin
  mem.close();
  // snippet:end
}

const { available, sentence } = cudaStatus();
if (available) {
  check(lib.syncedmem_set_accounting(constants.SYNCEDMEM_ACCOUNTING_ON));
  walk();
} else {
  console.error(sentence);
  process.exitCode = 1;
}
