// The C API as it is, called from JavaScript. SPDX-License-Identifier: BSD-2-Clause
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const koffi = require('koffi');
const { SyncedMemory, check: succeeds, constants, lib } = require('../syncedmem.js');
const { check } = require('./checks.js');

/** A call that C refuses has a status and a sentence, and writes nothing. */
function refused(status, handle) {
  const data = [7n];
  assert.equal(lib.syncedmem_cpu_data(handle, data), status);
  assert.ok(!data[0] || data[0] === 7n, `${data[0]}`);
  assert.match(lib.syncedmem_last_error(), /^syncedmem_cpu_data/);
}

module.exports = async function () {
  await check('text comes and goes as UTF-8', () => {
    const mem = new SyncedMemory(16);
    mem.setName('größe ≤ 3');
    const text = Buffer.alloc(64);
    const length = [0];
    mem.call((handle) => lib.syncedmem_get_name(handle, text, text.length, length));
    assert.equal(text.toString('utf8', 0, length[0]), 'größe ≤ 3');
    mem.close();
  });
  await check('a model file is opened and its values are read', () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'syncedmem-'));
    const file = path.join(folder, 'two.caffemodel');
    // A layer "größe" with a blob of the two floats 1.5 and -2.
    fs.writeFileSync(file, Buffer.from('a2061a0a076772c3b6c39f653a0f2a080000c03f000000c03a030a0102', 'hex'));
    const [model, name, type, blobs] = [[null], [null], [null], [0]];
    succeeds(lib.syncedmem_model_open(file, model));
    succeeds(lib.syncedmem_model_layer(model[0], 0, name, type, blobs));
    assert.deepEqual([name[0], type[0], blobs[0]], ['größe', '', 1]);
    const info = { size: koffi.sizeof('syncedmem_blob_info_t') };
    succeeds(lib.syncedmem_model_blob_info(model[0], 0, 0, info));
    assert.deepEqual([...koffi.decode(info.shape, 'int64_t', info.axes)], [2n]);
    const mem = new SyncedMemory(8);
    mem.call((handle) => lib.syncedmem_model_read_blob(model[0], 0, 0, 0, info.element_type, handle));
    assert.deepEqual([...new Float32Array(mem.cpuData())], [1.5, -2]);
    mem.close();
    succeeds(lib.syncedmem_model_close(model[0]));
    fs.rmSync(folder, { recursive: true });
  });
  await check('a callback of JavaScript is asked for the mode', () => {
    const asked = [];
    const callback = koffi.register((user) => {
      asked.push(user);
      return 0;
    }, 'syncedmem_mode_callback_t *');
    succeeds(lib.syncedmem_set_mode_callback(callback, 4711n));
    const data = [null];
    const pinned = [null];
    succeeds(lib.CaffeMallocHost(data, 64, pinned));
    succeeds(lib.syncedmem_set_mode_callback(null, null));
    succeeds(lib.CaffeFreeHost(data[0], pinned[0]));
    koffi.unregister(callback);
    assert.deepEqual(asked, [4711n]);
  });
  await check('a handle that is none is a status and a sentence, or a TypeError', () => {
    refused(constants.SYNCEDMEM_ERROR_INVALID_ARGUMENT, null);
    refused(constants.SYNCEDMEM_ERROR_INVALID_ARGUMENT, 3n);
    refused(constants.SYNCEDMEM_ERROR_INVALID_HANDLE, Buffer.alloc(64, 0x5a));
    for (const wrong of ['handle', {}, [], () => 1]) {
      assert.throws(() => lib.syncedmem_cpu_data(wrong, [null]), TypeError);
    }
  });
  await check('a handle after its end is a status and a sentence', () => {
    // In storage of our own: what syncedmem_destroy frees, Node.js itself may have reused by the next call.
    const storage = koffi.alloc('uint8_t', 64);
    const mem = [null];
    succeeds(lib.syncedmem_construct(storage, 64, 16, mem));
    assert.equal(mem[0], storage);
    succeeds(lib.syncedmem_destruct(mem[0]));
    refused(constants.SYNCEDMEM_ERROR_INVALID_HANDLE, mem[0]);
    assert.equal(lib.syncedmem_destruct(mem[0]), constants.SYNCEDMEM_ERROR_INVALID_HANDLE);
    koffi.free(storage);
  });
  await check('too few and wrong arguments are a TypeError', () => {
    assert.throws(() => lib.syncedmem_trim(), TypeError);
    assert.throws(() => lib.syncedmem_trim('all'), TypeError);
    assert.throws(() => lib.syncedmem_set_pools(undefined), TypeError);
  });
};
