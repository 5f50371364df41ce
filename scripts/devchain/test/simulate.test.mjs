// Simulation.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { b58, build, chainFor, keypair, rejected, SOL, transfer } from '../testkit.mjs';

async function world(t) {
  const chain = await chainFor(t);
  const wallet = await chain.funded();
  const to = keypair();
  const payment = async (lamports = SOL, blockhash) =>
    build({ signers: [wallet], instructions: [transfer(wallet.key, to.key, lamports)], blockhash: blockhash ?? (await chain.blockhash()) });
  return { ...chain, wallet, to, payment };
}

test('a success changes nothing and tells everything', async (t) => {
  const { simulate, payment, balance, wallet, to } = await world(t);
  const { value } = await simulate(await payment(), {
    sigVerify: true,
    innerInstructions: true,
    accounts: { encoding: 'base64', addresses: [wallet.address, to.address] },
  });
  assert.equal(value.err, null);
  assert.equal(value.fee, 5000);
  assert.equal(value.unitsConsumed, 150);
  assert.deepEqual(value.preBalances.slice(0, 2), [10e9, 0]);
  assert.deepEqual(value.postBalances.slice(0, 2), [9e9 - 5000, 1e9]);
  assert.deepEqual(value.loadedAddresses, { writable: [], readonly: [] });
  assert.deepEqual(value.accounts.map((a) => a.lamports), [9e9 - 5000, 1e9]);
  assert.deepEqual(value.innerInstructions, []);
  assert.equal(value.logs.length, 2);
  assert.equal(await balance(to.address), 0n);
});

test('a failure has null accounts', async (t) => {
  const { simulate, payment, wallet } = await world(t);
  const { value } = await simulate(await payment(100n * SOL), { accounts: { addresses: [wallet.address] } });
  assert.deepEqual(value.err, { InstructionError: [0, { Custom: 1 }] });
  assert.deepEqual(value.accounts, [null]);
  assert.deepEqual(value.postBalances[0], 10e9 - 5000);
});

test('blockhash: as it is, or replaced', async (t) => {
  const { simulate, payment } = await world(t);
  const stale = await payment(SOL, b58(Buffer.alloc(32, 3)));
  assert.equal((await simulate(stale)).value.err, 'BlockhashNotFound');
  const { value } = await simulate(stale, { replaceRecentBlockhash: true });
  assert.equal(value.err, null);
  assert.equal(typeof value.replacementBlockhash.blockhash, 'string');
  assert.equal(typeof value.replacementBlockhash.lastValidBlockHeight, 'number');
  await assert.rejects(simulate(stale, { replaceRecentBlockhash: true, sigVerify: true }), rejected(-32602, /may not be used/));
});

test('signatures are looked at only when asked', async (t) => {
  const { simulate, payment } = await world(t);
  const unsigned = await payment();
  unsigned.fill(0, 1, 65);
  assert.equal((await simulate(unsigned)).value.err, null);
  await assert.rejects(simulate(unsigned, { sigVerify: true }), rejected(-32003));
});

test('what landed is already processed', async (t) => {
  const { simulate, send, payment } = await world(t);
  const bytes = await payment();
  await send(bytes);
  assert.equal((await simulate(bytes)).value.err, 'AlreadyProcessed');
});

test('no more accounts than the transaction has', async (t) => {
  const { simulate, payment } = await world(t);
  const addresses = Array.from({ length: 4 }, () => keypair().address);
  await assert.rejects(simulate(await payment(), { accounts: { addresses } }), rejected(-32602, /max 3/));
  await assert.rejects(simulate(await payment(), { accounts: { addresses: [], encoding: 'base58' } }), rejected(-32602, /base58/));
});
