// The program as a process: its ready line, its clock, its ends.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { b58, client } from '../testkit.mjs';

const MAIN = fileURLToPath(new URL('../main.mjs', import.meta.url));

function start(t, ...flags) {
  const child = spawn(process.execPath, [MAIN, ...flags], { stdio: ['pipe', 'pipe', 'pipe'] });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  return { child, ended };
}

async function ready({ child }) {
  const [line] = await once(createInterface({ input: child.stdout }), 'line');
  return JSON.parse(line);
}

test('says where it listens, on loopback, and its slots pass', async (t) => {
  const run = start(t, '--slot-ms', '20', '--genesis', b58(Buffer.alloc(32, 5)));
  const up = await ready(run);
  assert.match(up.rpc, /^http:\/\/127\.0\.0\.1:\d+$/);
  assert.match(up.ws, /^ws:\/\/127\.0\.0\.1:\d+$/);
  assert.equal(up.genesisHash, b58(Buffer.alloc(32, 5)));
  const { call } = client(up);
  assert.equal(await call('getGenesisHash'), up.genesisHash);
  const before = await call('getSlot');
  for (let tries = 0; (await call('getSlot')) === before; tries++) {
    assert.ok(tries < 100, 'no slot has passed');
    await sleep(50);
  }
});

test('ends on a signal', async (t) => {
  for (const signal of ['SIGTERM', 'SIGINT']) {
    const run = start(t);
    await ready(run);
    run.child.kill(signal);
    assert.deepEqual(await run.ended, [0, null]);
  }
});

test('ends with its standard input, if asked to', async (t) => {
  const run = start(t, '--exit-with-stdin');
  await ready(run);
  run.child.stdin.end();
  assert.deepEqual(await run.ended, [0, null]);
});

test('no clock: slots stand still', async (t) => {
  const run = start(t, '--no-clock', '--slot-ms', '10', '--dev', '--confirmed-lag', '2', '--finalized-lag', '3');
  const { call } = client(await ready(run));
  const slot = await call('getSlot', { commitment: 'processed' });
  await sleep(100);
  assert.equal(await call('getSlot', { commitment: 'processed' }), slot);
  assert.equal(await call('getSlot', { commitment: 'confirmed' }), slot - 2);
  assert.equal(await call('getSlot'), slot - 3);
});

test('wrong usage', async (t) => {
  for (const flags of [['--port', 'x'], ['--port', '70000'], ['--genesis', 'x'], ['--nope'], ['--confirmed-lag', '9', '--finalized-lag', '2']]) {
    const run = start(t, ...flags);
    assert.deepEqual(await run.ended, [2, null]);
  }
});
