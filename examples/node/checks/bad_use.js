// Wrong uses of one object: each throws an exception and changes nothing.
// SPDX-License-Identifier: BSD-2-Clause
'use strict';

const assert = require('node:assert/strict');
const buffer = require('node:buffer');
const { DeviceData, OutOfMemoryError, SyncedMemory, SyncedmemError, constants, lib } = require('../syncedmem.js');
const { check } = require('./checks.js');

module.exports = async function () {
  await check('use after close is an Error', () => {
    const mem = new SyncedMemory(64);
    const device = mem.gpuData();
    device.close();
    device.close();
    mem.close();
    mem.close();
    const closed = /is closed/;
    assert.throws(() => mem.cpuData(), closed);
    assert.throws(() => mem.overwriteGpuData(), closed);
    assert.throws(() => mem.head, closed);
    assert.throws(() => mem.exports, closed);
    assert.throws(() => mem.setName('late'), closed);
    assert.throws(() => mem.call(lib.syncedmem_pin), closed);
    assert.throws(() => device.address, closed);
    assert.equal(`${mem}`, 'SyncedMemory(closed)');
  });
  await check('a size that cannot be is an exception', () => {
    for (const size of [-1, 1.5, NaN, Infinity, 2 ** 60, 2n ** 64n, '16', null, undefined, {}]) {
      assert.throws(() => new SyncedMemory(size), RangeError);
    }
  });
  await check('memory that there is not is an exception, and the process lives', () => {
    const mem = new SyncedMemory(2 ** 46);
    const status = constants.SYNCEDMEM_ERROR_OUT_OF_MEMORY;
    const code = 'SYNCEDMEM_ERROR_OUT_OF_MEMORY';
    for (const access of [() => mem.cpuData(0, 16), () => mem.mutableGpuData()]) {
      assert.throws(access, { name: OutOfMemoryError.name, status, code, message: /64\.0 TiB/ });
    }
    assert.equal(mem.head, 'UNINITIALIZED');
    assert.deepEqual(mem.exports, { host: 0, device: 0 });
    mem.close();
  });
  await check('a part that is not there is an exception, and no access', () => {
    const mem = new SyncedMemory(64);
    const wrong = [[-1, 4], [0, -4], [61, 4], [65, undefined], [0.5, 4], ['0', 4], [0, 2 ** 60], [0, NaN], [0n, 4n]];
    for (const [offset, bytes] of wrong) {
      assert.throws(() => mem.cpuData(offset, bytes), RangeError, `${offset} ${bytes}`);
    }
    assert.equal(mem.head, 'UNINITIALIZED');
    assert.equal(mem.cpuData(60).byteLength, 4);
    mem.close();
  });
  await check('more than an ArrayBuffer can have is an exception, and a part of it is not', () => {
    const mem = new SyncedMemory(3 * 2 ** 30);
    new Uint8Array(mem.overwriteCpuData(2 ** 31, 16))[15] = 9;
    assert.equal(new Uint8Array(mem.cpuData(2 ** 31 + 15, 1))[0], 9);
    mem.close();
    if (buffer.constants.MAX_LENGTH >= 2 ** 47) return;
    const larger = new SyncedMemory(2 * buffer.constants.MAX_LENGTH);
    assert.throws(() => larger.overwriteCpuData(), RangeError);
    assert.equal(larger.head, 'UNINITIALIZED');
    larger.close();
  });
  await check('an array of another size or type than its memory is an exception', () => {
    const mem = new SyncedMemory(18);
    const data = mem.mutableCpuData();
    assert.throws(() => new Float32Array(data), RangeError);
    assert.throws(() => new Float32Array(data, 0, 5), RangeError);
    assert.throws(() => new Float32Array(data, 2, 5), RangeError);
    assert.throws(() => new Uint8Array(data).set(new Uint8Array(19)), RangeError);
    assert.equal(new Uint8Array(data)[18], undefined);
    mem.close();
  });
  await check('no bytes are no special case', () => {
    const mem = new SyncedMemory(0);
    assert.equal(mem.mutableCpuData().byteLength, 0);
    const device = mem.gpuData();
    assert.equal(device.address, 0n);
    device.close();
    mem.close();
  });
  await check('a name that cannot be is an exception', () => {
    const mem = new SyncedMemory(16);
    assert.throws(() => mem.setName(null), TypeError);
    assert.throws(() => mem.setName('conv1\0.weights'), RangeError);
    const status = constants.SYNCEDMEM_ERROR_INVALID_ARGUMENT;
    assert.throws(() => mem.setName(''), { name: SyncedmemError.name, status, message: /^syncedmem_set_name/ });
    assert.throws(() => mem.setName('x'.repeat(201)), SyncedmemError);
    mem.close();
  });
  await check('what would move memory that is in use is an exception', () => {
    const mem = new SyncedMemory(16);
    const data = new Uint8Array(mem.mutableCpuData());
    mem.mutableGpuData().close();
    const status = constants.SYNCEDMEM_ERROR_EXPORTED;
    assert.throws(() => mem.call(lib.syncedmem_release_cpu), { status, message: /^syncedmem_release_cpu/ });
    assert.equal(data[15], 0);
    mem.close();
  });
  await check('another object in the place of this is a TypeError', () => {
    assert.throws(() => SyncedMemory.prototype.cpuData.call({}, 0, 4), TypeError);
    assert.throws(() => SyncedMemory.prototype.close.call(Object.create(SyncedMemory.prototype)), TypeError);
    assert.throws(() => DeviceData.prototype.close.call(new SyncedMemory(4)), TypeError);
    assert.throws(() => structuredClone(new SyncedMemory(4)).cpuData(), TypeError);
  });
};
