// The description of the API, against what koffi says it has declared. SPDX-License-Identifier: BSD-2-Clause
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const koffi = require('koffi');
const binding = require('../syncedmem.js');
const { check } = require('./checks.js');

const examples = path.join(__dirname, '..', '..');
const api = JSON.parse(fs.readFileSync(path.join(examples, '..', 'include', 'syncedmem.json'), 'utf8'));

// How each C type is to be declared: what koffi calls it, its kind, and who writes it.
const types = {
  'bool': 'bool Bool Input',
  'double': 'double Float64 Input',
  'int32_t': 'int32_t Int32 Input',
  'int64_t': 'int64_t Int64 Input',
  'size_t': 'size_t UInt64 Input',
  'uint8_t': 'uint8_t UInt8 Input',
  'void *': 'void * Pointer Input',
  'char *': 'uint8_t * Pointer Input',
  'const char *': 'char * String Input',
  'const int64_t *': 'int64_t * Pointer Input',
  'bool *': 'bool * Pointer Output',
  'const void *': 'void * Pointer Input',
  'double *': 'double * Pointer Output',
  'int *': 'int * Pointer Output',
  'int32_t *': 'int32_t * Pointer Output',
  'int64_t *': 'int64_t * Pointer Output',
  'size_t *': 'size_t * Pointer Output',
  'uint64_t *': 'uint64_t * Pointer Output',
  'void **': 'void ** Pointer Output',
  'const void **': 'void ** Pointer Output',
  'const char **': 'char ** Pointer Output',
};
for (const { name } of api.callbacks) types[name] = `${name} * Callback Input`;
for (const { name } of api.enums) types[`${name} *`] = 'int32_t * Pointer Output';
for (const { name } of api.structs) {
  types[`${name} *`] = `${name} * Pointer Input/Output`;
  types[`const ${name} *`] = `${name} * Pointer Input`;
}
for (const { name } of api.opaque) {
  types[`${name} *`] = types[`const ${name} *`] = `${name} * Pointer Input`;
  types[`${name} **`] = `${name} ** Pointer Output`;
}
const returned = {
  'bool': 'bool Bool',
  'int': 'int Int32',
  'void': 'void Void',
  'void *': 'void * Pointer',
  'const char *': 'char * String',
  'syncedmem_status_t': 'int32_t Int32',
};

const spelt = ({ name, primitive }) => `${name} ${primitive}`;
function wanted({ returns, parameters }) {
  for (const { type } of parameters) assert.ok(types[type], `no koffi type is known for ${type}`);
  return { returns: returned[returns], parameters: parameters.map(({ type }) => types[type]) };
}
function declared({ arguments: parameters, result }) {
  return {
    returns: spelt(result),
    parameters: parameters.map(({ type, direction }) => `${spelt(type)} ${direction}`),
  };
}

module.exports = async function () {
  await check('every function is declared as it is described', () => {
    const found = Object.fromEntries(Object.entries(binding.lib).map(([name, { info }]) => [name, declared(info)]));
    assert.deepEqual(found, Object.fromEntries(api.functions.map((each) => [each.name, wanted(each)])));
  });
  await check('every structure has the layout that C gives it', () => {
    const sizes = { 'bool': 1, 'int': 4, 'int32_t': 4, 'int64_t': 8, 'size_t': 8, 'uint64_t': 8 };
    for (const type of ['void *', 'char *', 'int64_t *']) sizes[type] = 8;
    for (const { name } of api.callbacks) sizes[`${name} *`] = 8;
    const callbacks = api.callbacks.map(({ name }) => name);
    const pointer = (type) => (callbacks.includes(type) ? `${type} *` : type);
    for (const { name, fields } of api.structs) {
      let offset = 0;
      const aligned = (to) => Math.ceil(offset / to) * to;
      const members = {};
      for (const { name: field, type: described } of fields) {
        const type = pointer(described.replace('const ', ''));
        offset = aligned(Math.min(sizes[type], 8));
        members[field] = { offset, type };
        offset += sizes[type];
      }
      offset = aligned(8);
      sizes[name] = offset;
      const type = koffi.type(name);
      const found = {};
      for (const [field, member] of Object.entries(type.members)) {
        found[field] = { offset: member.offset, type: member.type.name };
      }
      assert.deepEqual(found, members);
      assert.equal(type.size, sizes[name]);
    }
  });
  await check('every callback is declared as it is described', () => {
    const given = { 'syncedmem_status_t': 'int32_t', 'const char *': 'char *', 'size_t': 'size_t' };
    for (const type of ['void *', 'const void *']) given[type] = 'void *';
    for (const { name } of api.opaque) given[`${name} *`] = `${name} *`;
    for (const { name, returns, parameters } of api.callbacks) {
      const { proto } = koffi.type(name);
      assert.equal(spelt(proto.result), returned[returns]);
      assert.deepEqual(proto.arguments.map(({ type }) => type.name), parameters.map(({ type }) => given[type]));
    }
  });
  await check('every constant has its number', () => {
    const all = [...api.constants, ...api.enums.flatMap(({ values }) => values)];
    assert.deepEqual(binding.constants, Object.fromEntries(all.map(({ name, value }) => [name, value])));
  });
  await check('the TypeScript declarations agree with the module', () => {
    const text = fs.readFileSync(path.join(__dirname, '..', 'syncedmem.d.ts'), 'utf8');
    for (const Kind of [binding.SyncedMemory, binding.DeviceData, binding.SyncedmemError]) {
      const body = new RegExp(`export class ${Kind.name} [^{]*\\{(.*?)\\n\\}`, 's').exec(text)[1];
      const told = [...body.matchAll(/^ {2}(?:readonly |private )?(\w+)(?=[(:])/gm)].map(([, name]) => name);
      const own = Kind === binding.SyncedmemError ? ['status', 'code'] : Kind === binding.DeviceData ? ['bytes'] : [];
      assert.deepEqual([...new Set(told)].sort(), [...Object.getOwnPropertyNames(Kind.prototype), ...own].sort());
    }
    const exported = [...text.matchAll(/^export (?:class|function|const) (\w+)/gm)].map(([, name]) => name);
    assert.deepEqual(exported.sort(), Object.keys(binding).sort());
  });
};
