// Statuses and history: what is known of a transaction, and when.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { b58, build, chainFor, keypair, rejected, transfer } from '../testkit.mjs';

async function world(t) {
  const chain = await chainFor(t);
  const wallet = await chain.funded();
  const to = keypair();
  const pay = async (lamports) => {
    const bytes = build({ signers: [wallet], instructions: [transfer(wallet.key, to.key, lamports)], blockhash: await chain.blockhash() });
    return chain.send(bytes);
  };
  const status = async (signature, config) => (await chain.call('getSignatureStatuses', [signature], config)).value[0];
  return { ...chain, wallet, to, pay, status };
}

test('processed, confirmed, finalized', async (t) => {
  const { call, pay, status } = await world(t);
  const signature = await pay(1_000_000);
  const step = async (slots, expected, confirmations) => {
    await call('devchain_advance', { slots });
    const found = await status(signature);
    assert.deepEqual([found.confirmationStatus, found.confirmations], [expected, confirmations]);
  };
  await step(0, 'processed', 0);
  assert.equal(await call('getTransaction', signature, { commitment: 'confirmed' }), null);
  await step(1, 'confirmed', 1);
  assert.equal((await call('getTransaction', signature, { commitment: 'confirmed' })).slot, (await status(signature)).slot);
  assert.equal(await call('getTransaction', signature), null);
  await step(30, 'confirmed', 31);
  await step(1, 'finalized', null);
  assert.ok(await call('getTransaction', signature));
  await assert.rejects(call('getTransaction', signature, { commitment: 'processed' }), rejected(-32602, /below `confirmed`/));
});

test('old statuses need a search of the history', async (t) => {
  const { call, pay, status } = await world(t);
  const signature = await pay(1_000_000);
  await call('devchain_advance', { slots: 150 });
  assert.ok(await status(signature));
  await call('devchain_advance', { slots: 1 });
  assert.equal(await status(signature), null);
  assert.equal((await status(signature, { searchTransactionHistory: true })).confirmationStatus, 'finalized');
  assert.equal(await status(b58(Buffer.alloc(64, 1)), { searchTransactionHistory: true }), null);
  await assert.rejects(call('getSignatureStatuses', Array(257).fill(signature)), rejected(-32602, /max 256/));
});

test('the history of an address', async (t) => {
  const { call, pay, to } = await world(t);
  const sent = [];
  for (let i = 1; i <= 5; i++) sent.unshift(await pay(1_000_000 * i));
  await call('devchain_advance', { slots: 32 });
  const list = async (config) => (await call('getSignaturesForAddress', to.address, config)).map(({ signature }) => signature);
  assert.deepEqual(await list(), sent);
  assert.deepEqual(await list({ limit: 2 }), sent.slice(0, 2));
  assert.deepEqual(await list({ before: sent[1], limit: 2 }), sent.slice(2, 4));
  assert.deepEqual(await list({ until: sent[2] }), sent.slice(0, 2));
  const [newest] = await call('getSignaturesForAddress', to.address);
  assert.equal(newest.confirmationStatus, 'finalized');
  assert.equal(newest.err, null);
  await assert.rejects(list({ limit: 1001 }), rejected(-32602));
});
