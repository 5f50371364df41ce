// JSON-RPC itself: envelopes, ids, batches.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { chainFor } from '../testkit.mjs';

test('envelopes', async (t) => {
  const { post, server } = await chainFor(t);
  const ask = async (body) => (await post(body)).text();
  assert.equal(await ask('{"jsonrpc":"2.0","id":9223372036854775807,"method":"getHealth"}'), '{"jsonrpc":"2.0","id":9223372036854775807,"result":"ok"}');
  assert.equal(await ask('{"jsonrpc":"2.0","id":"a-b","method":"getHealth","params":[]}'), '{"jsonrpc":"2.0","id":"a-b","result":"ok"}');
  assert.equal(await ask('{"jsonrpc":"2.0","id":1,"method":"nope"}'), '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}');
  assert.match(await ask('{'), /-32700/);
  assert.match(await ask('[]'), /-32600/);
  assert.match(await ask('7'), /-32600/);
  assert.match(await ask('{"id":1,"method":"getHealth"}'), /-32600/);
  assert.match(await ask('{"jsonrpc":"2.0","id":1,"method":"constructor"}'), /-32601/);
  assert.match(await ask('{"jsonrpc":"2.0","id":1,"method":"getSlot","params":{}}'), /-32602/);
  assert.deepEqual(
    JSON.parse(await ask('[{"jsonrpc":"2.0","id":1,"method":"getHealth"},{"jsonrpc":"2.0","id":2,"method":"nope"}]')).map((a) => [a.id, a.result ?? a.error.code]),
    [[1, 'ok'], [2, -32601]],
  );
  assert.equal(await (await fetch(`${server.rpc}/health`)).text(), 'ok');
  assert.equal((await fetch(server.rpc)).status, 405);
});
