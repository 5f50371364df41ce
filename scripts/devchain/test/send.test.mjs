// Sending: preflight, fees, duplicates, expiry, formats, limits.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  b58, build, chainFor, FEE, keypair, LOOKUP_TABLE, meta, mintData, rejected, SOL, SYSTEM, TOKEN, tokenData, tokenTransfer,
  transfer, u32, u64, unb58, unitLimit, unitPrice,
} from '../testkit.mjs';

const signatureOf = (bytes) => b58(bytes.subarray(1, 65));

async function world(t, options) {
  const chain = await chainFor(t, options);
  const wallet = await chain.funded();
  const to = keypair();
  const payment = async (lamports = SOL, more = {}) =>
    build({ signers: [wallet], instructions: [transfer(wallet.key, to.key, lamports)], blockhash: await chain.blockhash(), ...more });
  return { ...chain, wallet, to, payment };
}

test('a payment lands and costs what it says', async (t) => {
  const { call, send, balance, payment, wallet, to } = await world(t);
  const bytes = await payment();
  assert.equal(await send(bytes), signatureOf(bytes));
  assert.equal(await balance(to.address), SOL);
  assert.equal(await balance(wallet.address), 9n * SOL - FEE);
  await call('devchain_advance', { slots: 32 });
  const { meta: told, transaction, version } = await call('getTransaction', signatureOf(bytes), { maxSupportedTransactionVersion: 0 });
  assert.equal(version, 'legacy');
  assert.equal(BigInt(told.fee), FEE);
  assert.deepEqual(told.preBalances.slice(0, 2), [10e9, 0]);
  assert.deepEqual(told.postBalances.slice(0, 2), [9e9 - 5000, 1e9]);
  assert.equal(transaction.message.accountKeys[0], wallet.address);
  assert.equal(await call('getTransactionCount'), 2);
});

test('the fee is the one the VM charges', async (t) => {
  const { send, balance, blockhash, wallet, call } = await world(t);
  const second = keypair();
  const self = transfer(wallet.key, wallet.key, 1);
  const cases = [
    [[self], [wallet]],
    [[self, unitPrice(123_457)], [wallet]],
    [[unitLimit(77_777), unitPrice(333_333), self], [wallet]],
    [[unitPrice(1_000_000), self, self, self], [wallet]],
    [[unitLimit(2_000_000), unitPrice(1_000), self], [wallet]],
    [[self, { program: SYSTEM, accounts: [meta(second.key, 's'), meta(wallet.key, 'w')], data: Buffer.concat([u32(2), u64(0)]) }], [wallet, second]],
  ];
  // The default limit depends on the program called. These calls fail; their fee is charged all the same.
  const names = [
    'AddressLookupTab1e1111111111111111111111111', 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA',
    'Vote111111111111111111111111111111111111111', 'Stake11111111111111111111111111111111111111',
    'BPFLoaderUpgradeab1e11111111111111111111111', 'BPFLoader2111111111111111111111111111111111',
    'Ed25519SigVerify111111111111111111111111111', 'KeccakSecp256k11111111111111111111111111111',
    'Secp256r1SigVerify1111111111111111111111111', 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr',
  ];
  for (const name of names) {
    cases.push([[unitPrice(10_000_000), { program: unb58(name), accounts: [], data: Buffer.from([9, 9]) }], [wallet]]);
  }
  for (const [instructions, signers] of cases) {
    const bytes = build({ signers, instructions, blockhash: await blockhash() });
    const before = await balance(wallet.address);
    const quoted = (await call('getFeeForMessage', bytes.subarray(1 + 64 * signers.length).toString('base64'), { commitment: 'processed' })).value;
    await send(bytes, { skipPreflight: true });
    assert.equal(before - (await balance(wallet.address)), BigInt(quoted), b58(instructions.at(-1).program));
  }
});

test('preflight', async (t) => {
  const { send, payment, raw, balance, wallet, to, blockhash } = await world(t);
  const poor = await payment(100n * SOL);
  const { error } = await raw('sendTransaction', poor.toString('base64'), { encoding: 'base64', preflightCommitment: 'processed' });
  assert.equal(error.code, -32002);
  assert.equal(error.message, 'Transaction simulation failed: Error processing Instruction 0: custom program error: 0x1');
  assert.deepEqual(error.data.err, { InstructionError: [0, { Custom: 1 }] });
  assert.match(error.data.logs.join('\n'), /insufficient lamports/);
  assert.equal(await balance(wallet.address), 10n * SOL, 'a failed preflight costs nothing');

  const empty = keypair();
  const fromEmpty = build({ signers: [empty], instructions: [transfer(empty.key, to.key, 1)], blockhash: await blockhash() });
  await assert.rejects(send(fromEmpty), (e) => e.code === -32002 && e.data.err === 'AccountNotFound');

  // With the default preflight commitment a blockhash of the newest slot is not known yet.
  await assert.rejects(
    raw('sendTransaction', (await payment()).toString('base64'), { encoding: 'base64' }).then(({ error: e }) => Promise.reject(e)),
    rejected(-32002, /Blockhash not found/),
  );
});

test('skipped preflight: a failing transaction lands, fails, and pays', async (t) => {
  const { send, payment, call, balance, wallet } = await world(t);
  const bytes = await payment(100n * SOL);
  assert.equal(await send(bytes, { skipPreflight: true }), signatureOf(bytes));
  assert.equal(await balance(wallet.address), 10n * SOL - FEE);
  const { value } = await call('getSignatureStatuses', [signatureOf(bytes)]);
  assert.deepEqual(value[0].err, { InstructionError: [0, { Custom: 1 }] });
  assert.deepEqual(value[0].status, { Err: { InstructionError: [0, { Custom: 1 }] } });
  await call('devchain_advance', { slots: 32 });
  const { meta: told } = await call('getTransaction', signatureOf(bytes));
  assert.deepEqual(told.err, { InstructionError: [0, { Custom: 1 }] });
});

test('skipped preflight: what cannot pay never lands', async (t) => {
  const { send, call, blockhash, to } = await world(t);
  const empty = keypair();
  const bytes = build({ signers: [empty], instructions: [transfer(empty.key, to.key, 1)], blockhash: await blockhash() });
  assert.equal(await send(bytes, { skipPreflight: true }), signatureOf(bytes));
  assert.equal((await call('getSignatureStatuses', [signatureOf(bytes)], { searchTransactionHistory: true })).value[0], null);
});

test('duplicates, for as long as the chain lives', async (t) => {
  const { send, payment, balance, to, call, funded } = await world(t);
  const bytes = await payment();
  await send(bytes);
  await assert.rejects(send(bytes), (e) => e.code === -32002 && e.data.err === 'AlreadyProcessed');
  for (let i = 0; i < 40; i++) await funded(SOL); // past the VM's own history of 32
  assert.equal(await send(bytes, { skipPreflight: true }), signatureOf(bytes));
  assert.equal(await balance(to.address), SOL);
  await call('devchain_advance', { slots: 151 });
  await assert.rejects(send(bytes), (e) => e.data.err === 'BlockhashNotFound');
});

test('expiry: 150 slots to execute, 144 to pass preflight', async (t) => {
  const { send, payment, call, balance, to } = await world(t);
  const [one, two, three] = [await payment(1_000_000), await payment(2_000_000), await payment(3_000_000)];
  await call('devchain_advance', { slots: 144 });
  await send(one);
  await call('devchain_advance', { slots: 1 });
  await assert.rejects(send(two), rejected(-32002, /Blockhash not found/));
  await call('devchain_advance', { slots: 5 });
  await send(two, { skipPreflight: true });
  assert.equal(await balance(to.address), 3_000_000n);
  await call('devchain_advance', { slots: 1 });
  await send(three, { skipPreflight: true });
  assert.equal(await balance(to.address), 3_000_000n, 'an expired transaction does not land');
});

test('expire all blockhashes', async (t) => {
  const { send, payment, call, blockhash } = await world(t);
  const old = await blockhash();
  const bytes = await payment();
  await call('devchain_expireBlockhash');
  for (const commitment of ['processed', 'confirmed', 'finalized']) {
    assert.equal((await call('isBlockhashValid', old, { commitment })).value, false);
  }
  await assert.rejects(send(bytes), rejected(-32002, /Blockhash not found/));
  await send(await payment());
});

test('signatures', async (t) => {
  const { send, payment, call, balance, to } = await world(t);
  const bytes = await payment();
  bytes[70] ^= 1;
  bytes[10] ^= 1;
  const bad = Buffer.from(bytes);
  bad[70] ^= 1; // the message is whole again, the signature is not
  await assert.rejects(send(bad), rejected(-32003));
  await send(bad, { skipPreflight: true });
  assert.equal(await balance(to.address), 0n);
  assert.equal((await call('getSignatureStatuses', [signatureOf(bad)])).value[0], null);
});

test('encodings', async (t) => {
  const { call, payment, raw, send } = await world(t);
  const bytes = await payment();
  assert.equal(await call('sendTransaction', b58(bytes), { preflightCommitment: 'processed', maxRetries: 0 }), signatureOf(bytes));
  await assert.rejects(send(await payment(), { encoding: 'hex' }), rejected(-32602, /encoding/));
  for (const garbage of ['', 'AAAA', '%%%', 5, null]) {
    const { error } = await raw('sendTransaction', garbage, { encoding: 'base64' });
    assert.equal(error.code, -32602, String(garbage));
  }
});

test('malformed bytes never reach the VM', async (t) => {
  const { raw, payment, call } = await world(t);
  const good = await payment();
  const malformed = [good.subarray(0, 64), good.subarray(0, good.length - 1), Buffer.concat([good, Buffer.from([0])]), Buffer.alloc(200, 0xff)];
  for (const method of ['sendTransaction', 'simulateTransaction']) {
    for (const bytes of malformed) {
      const { error } = await raw(method, bytes.toString('base64'), { encoding: 'base64', skipPreflight: true });
      assert.equal(error.code, -32602);
      assert.match(error.message, /failed to deserialize/);
    }
  }
  assert.equal(await call('getHealth'), 'ok');
});

test('size limits', async (t) => {
  const { payment, raw, wallet, blockhash } = await world(t);
  const memo = (size) => [{ program: SYSTEM, accounts: [], data: Buffer.alloc(size) }];
  const sized = async (total, version = 'legacy') => {
    const make = async (size) => build({ signers: [wallet], instructions: memo(size), blockhash: await blockhash(), version });
    return make(total - (await make(200)).length + 200);
  };
  const code = async (bytes) => (await raw('simulateTransaction', bytes.toString('base64'), { encoding: 'base64', commitment: 'processed' })).error;
  assert.equal((await sized(1232)).length, 1232);
  assert.equal(await code(await sized(1232)), undefined);
  assert.match((await code(await sized(1233))).message, /too large: 1233 bytes \(max: 1232 bytes\)/);
  assert.equal(await code(await sized(4096, 1)), undefined);
  assert.match((await code(await sized(4097, 1))).message, /too large: 4097 bytes \(max: 4096 bytes\)/);
  assert.match((await code(Buffer.alloc(9000, 1))).message, /too large/);
  assert.ok((await payment()).length < 1232);
});

test('v0 with a lookup table', async (t) => {
  const { call, send, setAccount, wallet, to, blockhash, balance } = await world(t);
  const table = keypair();
  const header = Buffer.alloc(56);
  header.writeUInt32LE(1, 0);
  header.writeBigUInt64LE(0xffffffffffffffffn, 4);
  header.writeBigUInt64LE(1n, 12);
  await setAccount(table.address, SOL, LOOKUP_TABLE, Buffer.concat([header, to.key]));
  const tables = [{ key: table.key, addresses: [to.key] }];
  const make = async (given = tables, lamports = SOL) =>
    build({ signers: [wallet], instructions: [transfer(wallet.key, to.key, lamports)], blockhash: await blockhash(), version: 0, tables: given });
  const bytes = await make();
  await send(bytes);
  assert.equal(await balance(to.address), SOL);
  await call('devchain_advance', { slots: 32 });
  await assert.rejects(call('getTransaction', signatureOf(bytes)), rejected(-32015));
  const found = await call('getTransaction', signatureOf(bytes), { maxSupportedTransactionVersion: 0 });
  assert.equal(found.version, 0);
  assert.deepEqual(found.meta.loadedAddresses, { writable: [to.address], readonly: [] });
  assert.equal(found.meta.postBalances.length, found.transaction.message.accountKeys.length + 1);
  assert.deepEqual(found.transaction.message.addressTableLookups, [{ accountKey: table.address, readonlyIndexes: [], writableIndexes: [0] }]);
  assert.equal((await call('getSignaturesForAddress', to.address)).length, 1, 'a loaded address has a history too');

  const fails = async (given, err) => assert.rejects(send(await make(given, 5)), (e) => e.data.err === err);
  await fails([{ key: keypair().key, addresses: [to.key] }], 'AddressLookupTableNotFound');
  await fails([{ key: table.key, addresses: [SYSTEM, to.key] }], 'InvalidAddressLookupTableIndex');
  await setAccount(table.address, SOL, SYSTEM, Buffer.alloc(88));
  await fails(tables, 'InvalidAddressLookupTableOwner');
});

test('v1', async (t) => {
  const { call, send, payment, balance, wallet } = await world(t);
  const bytes = await payment(SOL, { version: 1, config: { priorityFee: 7777n, units: 1000 } });
  const signature = b58(bytes.subarray(-64));
  assert.equal(await send(bytes), signature);
  assert.equal(await balance(wallet.address), 9n * SOL - 5000n - 7777n);
  await call('devchain_advance', { slots: 32 });
  await assert.rejects(call('getTransaction', signature, { maxSupportedTransactionVersion: 0 }), rejected(-32015));
  const found = await call('getTransaction', signature, { maxSupportedTransactionVersion: 1, encoding: 'base64' });
  assert.equal(found.version, 1);
  assert.equal(found.meta.fee, 12777);
  assert.deepEqual(found.transaction, [bytes.toString('base64'), 'base64']);
});

test('token balances before and after', async (t) => {
  const { call, send, setAccount, wallet, blockhash } = await world(t);
  const [mint, from, into, other] = Array.from({ length: 4 }, keypair);
  await setAccount(mint.address, SOL, TOKEN, mintData(2));
  await setAccount(from.address, 2_039_280, TOKEN, tokenData(mint.key, wallet.key, 1000n));
  await setAccount(into.address, 2_039_280, TOKEN, tokenData(mint.key, other.key, 5n));
  const bytes = build({ signers: [wallet], instructions: [tokenTransfer(from.key, into.key, wallet.key, 250)], blockhash: await blockhash() });
  await send(bytes);
  await call('devchain_advance', { slots: 32 });
  const { meta: told, transaction } = await call('getTransaction', signatureOf(bytes));
  const amounts = (list) => Object.fromEntries(list.map((b) => [transaction.message.accountKeys[b.accountIndex], b.uiTokenAmount.amount]));
  assert.deepEqual(amounts(told.preTokenBalances), { [from.address]: '1000', [into.address]: '5' });
  assert.deepEqual(amounts(told.postTokenBalances), { [from.address]: '750', [into.address]: '255' });
  assert.equal(told.postTokenBalances.find((b) => b.uiTokenAmount.amount === '255').owner, other.address);
});

test('equal airdrops are two transactions', async (t) => {
  const { call, balance } = await chainFor(t);
  const { address } = keypair();
  const [one, two] = [await call('requestAirdrop', address, 1e9), await call('requestAirdrop', address, 1e9)];
  assert.notEqual(one, two);
  assert.equal(await balance(address), 2n * SOL);
  assert.equal((await call('getSignatureStatuses', [one, two])).value.every((s) => s.confirmationStatus === 'processed'), true);
  await assert.rejects(call('requestAirdrop', keypair().address, 5), rejected(-32603, /rent/));
});
