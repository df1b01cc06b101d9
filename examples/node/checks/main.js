// What the binding promises, checked: that it is the whole API as described, and that bad use is an exception, or does
// what the contract says, and never ends the process. To be run with --expose-gc. SPDX-License-Identifier: BSD-2-Clause
'use strict';

const { check: succeeds, constants, lib } = require('../syncedmem.js');
const { counted } = require('./checks.js');

async function main() {
  succeeds(lib.syncedmem_set_accounting(constants.SYNCEDMEM_ACCOUNTING_ON));
  for (const part of ['description', 'calls_of_c', 'lifetimes', 'bad_use', 'driver']) await require(`./${part}.js`)();
  console.log(`node: ${counted.passed + counted.failed} checks`);
  process.exitCode = counted.failed === 0 ? 0 : 1;
}

main();
