// Which objects keep memory, what ends it, and on which thread. SPDX-License-Identifier: BSD-2-Clause
'use strict';

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { Worker } = require('node:worker_threads');
const { SyncedMemory, check: succeeds, lib, stats } = require('../syncedmem.js');
const { becomes, check } = require('./checks.js');

const BYTES = 1 << 20;

/** Bytes that live on the host. */
function live() {
  const { pageable, pinned } = stats();
  return pageable.live + pinned.live;
}

/** Nothing but an array is left of this memory. */
function outliving(close) {
  const mem = new SyncedMemory(BYTES);
  new Float32Array(mem.mutableCpuData()).fill(7);
  const kept = new Float32Array(mem.cpuData()).subarray(1);
  if (close) mem.close();
  return kept;
}

function forgotten() {
  const mem = new SyncedMemory(BYTES);
  mem.mutableCpuData();
  mem.gpuData();
}

module.exports = async function () {
  await check('an array outlives its memory, closed or forgotten, and ends it when it is garbage', async () => {
    for (const close of [true, false]) {
      const kept = [outliving(close)];
      const ended = stats().objects_ended;
      forgotten();
      await becomes('another object is ended', () => stats().objects_ended > ended && live() <= BYTES);
      assert.equal(live(), BYTES);
      assert.ok(kept[0].every((value) => value === 7));
      kept.pop();
      await becomes('the memory is given back', () => live() === 0);
    }
  });
  await check('an array that is garbage is no export any more', async () => {
    const mem = new SyncedMemory(64);
    mem.cpuData();
    assert.equal(mem.exports.host, 1);
    await becomes('there are no exports', () => mem.exports.host === 0);
    mem.close();
  });
  await check('an address on the device outlives its memory until it is closed', () => {
    const before = stats().device.live;
    const mem = new SyncedMemory(BYTES);
    const device = mem.mutableGpuData();
    assert.equal(mem.exports.device, 1);
    mem.close();
    assert.equal(stats().device.live, before + BYTES);
    device.close();
    assert.equal(stats().device.live, before);
  });
  await check('an object that was not closed is ended, on both sides', async () => {
    const { objects_ended: ended, device } = stats();
    for (let i = 0; i < 8; i++) forgotten();
    await becomes('eight objects are ended', () => stats().objects_ended >= ended + 8);
    assert.equal(stats().device.live, device.live);
  });
  await check('an object is ended on a thread that is not ours', async () => {
    const before = stats().device.live;
    const mem = [null];
    const data = [null];
    succeeds(lib.syncedmem_create(BYTES, mem));
    succeeds(lib.syncedmem_gpu_data(mem[0], data));
    const failure = await new Promise((done) => {
      lib.syncedmem_destroy.async(mem[0], (error, status) => done(error ?? status));
    });
    assert.equal(failure, 0);
    assert.equal(stats().device.live, before);
  });
  await check('what a worker forgot it ends, on its own thread', async () => {
    const { objects_ended: ended } = stats();
    const worker = new Worker(require.resolve('./worker.js'));
    const [outcome] = await once(worker, 'message');
    const [status] = await once(worker, 'exit');
    assert.equal(outcome, 'ended');
    assert.equal(status, 0);
    assert.ok(stats().objects_ended >= ended + 1);
  });
  await check('an array cannot be transferred away from what keeps it, only copied', async () => {
    const mem = new SyncedMemory(16);
    const data = mem.mutableCpuData();
    let copy = null;
    try {
      copy = structuredClone(data, { transfer: [data] });
    } catch (refusal) {
      assert.equal(refusal.name, 'DataCloneError');
    }
    assert.equal(data.byteLength, 16);
    assert.throws(() => data.transfer(), /cannot be transferred/);
    new Uint8Array(data).fill(1);
    assert.equal(copy === null ? 0 : new Uint8Array(copy)[0], 0);
    assert.equal(mem.exports.host, 1);
    mem.close();
  });
};
