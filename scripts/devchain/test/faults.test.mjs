// Faults and the other controls of tests.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { b58, build, chainFor, keypair, rejected, SOL, SYSTEM, transfer } from '../testkit.mjs';

async function world(t) {
  const chain = await chainFor(t);
  const wallet = await chain.funded();
  const to = keypair();
  const payment = async (lamports = SOL) =>
    build({ signers: [wallet], instructions: [transfer(wallet.key, to.key, lamports)], blockhash: await chain.blockhash() });
  const fault = (given) => chain.call('devchain_fault', given);
  const status = async (signature) => (await chain.call('getSignatureStatuses', [signature])).value[0];
  const ask = (method = 'getHealth') => chain.post(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: [] }));
  return { ...chain, wallet, to, payment, fault, status, ask };
}

test('drop: accepted, never lands, for as many calls as ordered', async (t) => {
  const { fault, send, payment, status } = await world(t);
  await fault({ method: 'sendTransaction', kind: 'drop', count: 1 });
  const bytes = await payment();
  const signature = await send(bytes);
  assert.equal(await status(signature), null);
  assert.equal(await send(bytes), signature, 'the same bytes may be sent again');
  assert.ok(await status(signature));
});

test('land_then_error: lands, and says that it failed', async (t) => {
  const { fault, send, payment, status, balance, to, server } = await world(t);
  await fault({ method: 'sendTransaction', kind: 'land_then_error', count: 1 });
  const bytes = await payment();
  await assert.rejects(send(bytes), rejected(-32603));
  assert.ok(await status(b58(bytes.subarray(1, 65))));
  assert.equal(await balance(to.address), SOL);
  await fault({ method: 'sendTransaction', kind: 'land_then_error', status: 500, count: 1 });
  const second = await payment(2n * SOL);
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'sendTransaction', params: [second.toString('base64'), { encoding: 'base64', skipPreflight: true }] });
  const response = await fetch(server.rpc, { method: 'POST', body });
  assert.equal(response.status, 500);
  assert.equal(await balance(to.address), 3n * SOL);
});

test('delay_land: lands later, if it is still valid then', async (t) => {
  const { fault, send, payment, call, status, balance, to } = await world(t);
  await fault({ method: 'sendTransaction', kind: 'delay_land', slots: 5, count: 1 });
  const signature = await send(await payment());
  await call('devchain_advance', { slots: 4 });
  assert.equal(await status(signature), null);
  await call('devchain_advance', { slots: 1 });
  assert.equal((await status(signature)).slot, await call('getSlot', { commitment: 'processed' }));
  await fault({ method: 'sendTransaction', kind: 'delay_land', slots: 151, count: 1 });
  const late = await send(await payment(2n * SOL));
  await call('devchain_advance', { slots: 151 });
  assert.equal(await status(late), null);
  assert.equal(await balance(to.address), SOL);
});

test('delay, 429, 500, garbage', async (t) => {
  const { fault, ask } = await world(t);
  await fault({ method: 'getHealth', kind: 'delay', ms: 60, count: 1 });
  const start = Date.now();
  assert.equal((await (await ask()).json()).result, 'ok');
  assert.ok(Date.now() - start >= 55);

  await fault({ method: 'getHealth', kind: 'http_429', retryAfterS: 7, count: 2 });
  for (let i = 0; i < 2; i++) {
    const limited = await ask();
    assert.deepEqual([limited.status, limited.headers.get('retry-after')], [429, '7']);
    await limited.text();
  }
  assert.equal((await ask()).status, 200);

  await fault({ method: 'getHealth', kind: 'http_500', count: 1 });
  assert.equal((await ask()).status, 500);
  await fault({ method: 'getHealth', kind: 'garbage', count: 1 });
  const garbage = await ask();
  assert.equal(garbage.status, 200);
  await assert.rejects(garbage.json(), SyntaxError);
});

test('hang: no answer at all', async (t) => {
  const { fault, server } = await world(t);
  await fault({ method: 'getHealth', kind: 'hang', count: 1 });
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getHealth' });
  await assert.rejects(fetch(server.rpc, { method: 'POST', body, signal: AbortSignal.timeout(150) }), { name: 'TimeoutError' });
});

test('lie_simulation: a success that never was', async (t) => {
  const { fault, simulate, payment, wallet, to, call } = await world(t);
  const ask = async () =>
    (await simulate(await payment(100n * SOL), { accounts: { encoding: 'base64', addresses: [wallet.address, to.address] } })).value;
  await fault({ method: 'simulateTransaction', kind: 'lie_simulation' });
  const unchanged = await ask();
  assert.equal(unchanged.err, null);
  assert.deepEqual(unchanged.accounts.map((a) => a?.lamports ?? null), [10e9, null]);
  assert.deepEqual(unchanged.postBalances, unchanged.preBalances);
  await call('devchain_clearFaults');
  await fault({ method: 'simulateTransaction', kind: 'lie_simulation', count: 1, accounts: { [wallet.address]: { lamports: 5, owner: b58(SYSTEM) } } });
  assert.equal((await ask()).accounts[0].lamports, 5);
  assert.notEqual((await ask()).err, null);
});

test('lie_balance: everywhere it is read', async (t) => {
  const { fault, call, simulate, payment, wallet, balance } = await world(t);
  const nobody = keypair().address;
  await fault({ kind: 'lie_balance', pubkey: wallet.address, lamports: 77 });
  await fault({ kind: 'lie_balance', pubkey: nobody, lamports: 88 });
  assert.equal(await balance(wallet.address), 77n);
  assert.equal((await call('getAccountInfo', wallet.address, { encoding: 'base64' })).value.lamports, 77);
  assert.deepEqual((await call('getMultipleAccounts', [wallet.address, nobody])).value.map((a) => a.lamports), [77, 88]);
  assert.equal((await simulate(await payment())).value.preBalances[0], 77);
  await call('devchain_clearFaults');
  assert.equal(await balance(wallet.address), 10n * SOL);
});

test('hide_status and wrong_genesis', async (t) => {
  const { fault, call, send, payment, status, server } = await world(t);
  const signature = await send(await payment());
  await call('devchain_advance', { slots: 1 });
  await fault({ kind: 'hide_status' });
  assert.equal(await status(signature), null);
  assert.equal(await call('getTransaction', signature, { commitment: 'confirmed' }), null);
  await call('devchain_clearFaults');
  assert.ok(await status(signature));
  await fault({ method: 'getGenesisHash', kind: 'wrong_genesis', count: 1 });
  assert.notEqual(await call('getGenesisHash'), server.genesisHash);
  assert.equal(await call('getGenesisHash'), server.genesisHash);
});

test('a fault that cannot be is refused', async (t) => {
  const { fault } = await world(t);
  await assert.rejects(fault({ kind: 'gremlins' }), rejected(-32602, /there are delay, hang/));
  await assert.rejects(fault({ kind: 'drop', method: 'getBalance' }), rejected(-32602, /spoils sendTransaction/));
  await assert.rejects(fault({ kind: 'drop', count: -1 }), rejected(-32602, /count/));
  await assert.rejects(fault({ kind: 'lie_balance' }), rejected(-32602));
});

test('requests are counted', async (t) => {
  const { call, payment, send, fault, ask } = await world(t);
  const count = (method) => call('devchain_requests', { method });
  assert.equal(await count('sendTransaction'), 0);
  await send(await payment());
  assert.equal(await count('sendTransaction'), 1);
  await fault({ method: 'getHealth', kind: 'http_500', count: 1 });
  await (await ask()).text();
  assert.equal(await count('getHealth'), 1, 'a spoiled call is a call');
  assert.equal((await call('devchain_requests')).sendTransaction, 1);
});

test('set an account', async (t) => {
  const { call, setAccount, balance } = await world(t);
  const { address } = keypair();
  await setAccount(address, SOL, SYSTEM, Buffer.from([1]));
  assert.equal(await balance(address, 'finalized'), SOL);
  await setAccount(address, 0, SYSTEM);
  assert.equal((await call('getAccountInfo', address)).value, null);
  for (const bad of [{ lamports: -1, owner: address }, { lamports: 1, owner: 'x' }, { lamports: 1, owner: address, data: '!' }]) {
    await assert.rejects(call('devchain_setAccount', address, bad), rejected(-32602));
  }
});

test('add a program', async (t) => {
  const { call } = await world(t);
  const { address } = keypair();
  await assert.rejects(call('devchain_addProgram', address, Buffer.alloc(500).toString('base64')), rejected(-32602, /ELF/));
  const elf = Buffer.alloc(500);
  elf.writeUInt32BE(0x7f454c46);
  await assert.rejects(call('devchain_addProgram', address, elf.toString('base64')), rejected(-32602, /refuses this program/));
  assert.equal(await call('getHealth'), 'ok');
});

test('without --dev there are no controls, but airdrops', async (t) => {
  const { call, raw } = await chainFor(t, { dev: false });
  for (const method of ['airdrop', 'advance', 'expireBlockhash', 'setAccount', 'addProgram', 'fault', 'clearFaults', 'requests']) {
    assert.equal((await raw(`devchain_${method}`)).error.code, -32601);
  }
  assert.equal(typeof (await call('requestAirdrop', keypair().address, 1e9)), 'string');
});
