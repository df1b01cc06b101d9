// How one thing is checked, and reported. SPDX-License-Identifier: BSD-2-Clause
'use strict';

const { setTimeout: sleep } = require('node:timers/promises');
const util = require('node:util');

const counted = { passed: 0, failed: 0 };

/** One check: whatever its body throws is a failure. */
async function check(sentence, body) {
  try {
    await body();
    counted.passed++;
    console.log(`ok - node: ${sentence}`);
  } catch (failure) {
    counted.failed++;
    console.log(`not ok - node: ${sentence}`);
    console.log(util.inspect(failure).replace(/^/gm, '#   '));
  }
}

/** Collects garbage until something has become true. */
async function becomes(what, condition) {
  for (let i = 0; i < 500; i++) {
    global.gc();
    // Finalisers run between turns.
    await sleep(i < 10 ? 0 : 10);
    if (condition()) return;
  }
  throw new Error(`it did not come to be: ${what}`);
}

module.exports = { becomes, check, counted };
