// JSON with exact integers.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { parseJSON, stringifyJSON } from '../lib/json.mjs';

test('integers come back as they were', () => {
  for (const text of ['0', '-7', '9007199254740991', '9007199254740993', '9223372036854775807', '18446744073709551615']) {
    assert.equal(stringifyJSON(parseJSON(text)), text);
  }
});

test('agrees with JSON.parse', () => {
  for (const text of ['{"a":[1,2.5,-3e2],"b":{"c":null},"d":"x\\u0041\\n\\"","e":true}', '[]', '{}', ' [ 1 , 2 ] ', '"__proto__"', 'false']) {
    assert.deepEqual(parseJSON(text), JSON.parse(text));
  }
  assert.equal(Object.keys(parseJSON('{"__proto__":1}'))[0], '__proto__');
});

test('refuses what is not JSON', () => {
  for (const text of ['', '{', '[1,]', '{"a":1,}', '{a:1}', '01', '1 2', "'x'", 'nul', '"\n"', '[1', '{"a"}', '-', '1.', '['.repeat(100)]) {
    assert.throws(() => parseJSON(text), SyntaxError, text);
  }
});
