// The list of conformance/checks.mjs, on our server and on Surfpool.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { checks, world } from '../conformance/checks.mjs';
import { startSurfpool, surfpoolRuns } from '../conformance/surfpool.mjs';
import { startServer } from '../lib/server.mjs';
import { client } from '../testkit.mjs';

const SLOT_MS = 20;

test('ours', async (t) => {
  const server = await startServer({ slotMs: SLOT_MS });
  t.after(() => server.close());
  const node = await world(client(server));
  for (const check of checks) await t.test(check.name, () => check.run(node));
});

test('surfpool', { skip: surfpoolRuns ? false : 'there is no package for this platform' }, async (t) => {
  const server = startSurfpool(SLOT_MS);
  t.after(() => server.close());
  const node = await world(client(server));
  for (const check of checks) {
    const name = check.surfpool ? `${check.name} (${check.surfpool})` : check.name;
    await t.test(name, () => (check.surfpool ? assert.rejects(check.run(node)) : check.run(node)));
  }
});
