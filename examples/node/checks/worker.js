// Forgets memory on another thread, and sees it end there. SPDX-License-Identifier: BSD-2-Clause
'use strict';

const { parentPort } = require('node:worker_threads');
const { SyncedMemory, stats } = require('../syncedmem.js');
const { becomes } = require('./checks.js');

function forgotten() {
  const mem = new SyncedMemory(4096);
  new Uint8Array(mem.mutableCpuData()).fill(1);
  mem.gpuData();
}

async function main() {
  const { objects_ended: ended } = stats();
  forgotten();
  await becomes('the memory is ended', () => stats().objects_ended > ended);
  parentPort.postMessage('ended');
}

main();
