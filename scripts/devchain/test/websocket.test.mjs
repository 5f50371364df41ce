// Subscriptions.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';

import WebSocket from 'ws';

import { b58, build, chainFor, keypair, SOL, transfer } from '../testkit.mjs';

async function world(t) {
  const chain = await chainFor(t);
  const wallet = await chain.funded();
  const to = keypair();
  const socket = new WebSocket(chain.server.ws);
  t.after(() => socket.terminate());
  await once(socket, 'open');
  const heard = [];
  const waiting = [];
  socket.on('message', (text) => {
    heard.push(text.toString());
    waiting.splice(0).forEach((wake) => wake());
  });
  // The next message that matches, from the first one on.
  const next = async (pattern) => {
    for (;;) {
      const index = heard.findIndex((text) => pattern.test(text));
      if (index >= 0) return heard.splice(index, 1)[0];
      await new Promise((wake) => waiting.push(wake));
    }
  };
  const subscribe = async (method, ...params) => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: method, method, params }));
    return JSON.parse(await next(new RegExp(`"id":"${method}"`)));
  };
  const payment = async () =>
    build({ signers: [wallet], instructions: [transfer(wallet.key, to.key, SOL)], blockhash: await chain.blockhash() });
  return { ...chain, wallet, to, socket, heard, next, subscribe, payment };
}

const signatureOf = (bytes) => b58(bytes.subarray(1, 65));

test('a signature is told when its commitment is reached, once', async (t) => {
  const { call, send, payment, subscribe, next, heard } = await world(t);
  const bytes = await payment();
  const { result } = await subscribe('signatureSubscribe', signatureOf(bytes), { commitment: 'confirmed' });
  await send(bytes);
  await call('getHealth');
  assert.equal(heard.length, 0);
  await call('devchain_advance', { slots: 1 });
  const { params } = JSON.parse(await next(/signatureNotification/));
  assert.equal(params.subscription, result);
  assert.deepEqual(params.result.value, { err: null });
  await call('devchain_advance', { slots: 40 });
  assert.equal(heard.length, 0);
});

test('a signature that is final already is told at once, after the acknowledgement', async (t) => {
  const { call, send, payment, socket, next, heard } = await world(t);
  const signature = await send(await payment());
  await call('devchain_advance', { slots: 32 });
  socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'signatureSubscribe', params: [signature] }));
  await next(/signatureNotification/);
  assert.match(heard[0], /"id":1,"result":\d+/);
});

test('a failed transaction is told with its error', async (t) => {
  const { send, wallet, to, blockhash, subscribe, next } = await world(t);
  const bytes = build({ signers: [wallet], instructions: [transfer(wallet.key, to.key, 100n * SOL)], blockhash: await blockhash() });
  const signature = await send(bytes, { skipPreflight: true });
  await subscribe('signatureSubscribe', signature, { commitment: 'processed' });
  assert.match(await next(/signatureNotification/), /"err":\{"InstructionError":\[0,\{"Custom":1\}\]\}/);
});

test('a 63-bit id is echoed digit by digit', async (t) => {
  const { socket, next } = await world(t);
  for (const id of ['9223372036854775807', '5577006791947779410', '1']) {
    socket.send(`{"jsonrpc":"2.0","id":${id},"method":"slotSubscribe","params":[]}`);
    await next(new RegExp(`"id":${id},`));
  }
});

test('accounts', async (t) => {
  const { call, send, payment, to, subscribe, next, heard } = await world(t);
  const { result } = await subscribe('accountSubscribe', to.address, { commitment: 'confirmed', encoding: 'base64' });
  await send(await payment());
  await call('getHealth');
  assert.equal(heard.length, 0);
  await call('devchain_advance', { slots: 1 });
  const { params } = JSON.parse(await next(/accountNotification/));
  assert.equal(params.subscription, result);
  assert.equal(params.result.value.lamports, 1e9);
});

test('logs and slots', async (t) => {
  const { call, send, payment, to, subscribe, next } = await world(t);
  await subscribe('logsSubscribe', { mentions: [to.address] }, { commitment: 'processed' });
  const signature = await send(await payment());
  assert.equal(JSON.parse(await next(/logsNotification/)).params.result.value.signature, signature);
  await subscribe('slotSubscribe');
  const slot = await call('getSlot', { commitment: 'processed' });
  await call('devchain_advance', { slots: 1 });
  assert.equal(JSON.parse(await next(/slotNotification/)).params.result.slot, slot + 1);
});

test('unsubscribing, and what is refused', async (t) => {
  const { call, subscribe, heard } = await world(t);
  const { result } = await subscribe('slotSubscribe');
  assert.equal((await subscribe('slotUnsubscribe', result)).result, true);
  assert.equal((await subscribe('slotUnsubscribe', result)).error.code, -32602);
  await call('devchain_advance', { slots: 2 });
  assert.equal(heard.length, 0);
  assert.equal((await subscribe('getHealth')).error.code, -32601);
  assert.equal((await subscribe('signatureSubscribe', 'x')).error.code, -32602);
});
