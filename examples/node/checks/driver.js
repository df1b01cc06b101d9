// Checks that the simulated driver has seen no rule broken. SPDX-License-Identifier: BSD-2-Clause
'use strict';

const assert = require('node:assert/strict');
const koffi = require('koffi');
const { check } = require('./checks.js');

module.exports = async function () {
  let violations;
  try {
    violations = koffi.load('libcuda.so.1').func('size_t simcuda_violations(uint8_t *text, size_t capacity)');
  } catch {
    return; // A real one.
  }
  await check("no rule of the driver's was broken", () => {
    const text = Buffer.alloc(4096);
    assert.equal(violations(text, text.length), 0, text.toString());
  });
};
