// What can be asked of the chain without changing it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { b58, build, chainFor, FEE, keypair, mintData, rejected, SOL, SYSTEM, TOKEN, TOKEN_2022, tokenData, transfer, unb58, unitPrice } from '../testkit.mjs';

test('cluster facts', async (t) => {
  const { call, server } = await chainFor(t);
  assert.equal(await call('getHealth'), 'ok');
  assert.match((await call('getVersion'))['solana-core'], /^\d+\.\d+\.\d+$/);
  assert.equal(await call('getGenesisHash'), server.genesisHash);
  const processed = await call('getSlot', { commitment: 'processed' });
  assert.equal(await call('getSlot', { commitment: 'confirmed' }), processed - 1);
  assert.equal(await call('getSlot'), processed - 32);
  const height = await call('getBlockHeight', { commitment: 'processed' });
  assert.notEqual(height, processed);
  const epoch = await call('getEpochInfo', { commitment: 'processed' });
  assert.equal(epoch.absoluteSlot, processed);
  assert.equal(epoch.blockHeight, height);
  assert.equal(epoch.epoch * epoch.slotsInEpoch + epoch.slotIndex, processed);
  await assert.rejects(call('getSlot', { minContextSlot: processed + 1 }), rejected(-32016));
  assert.equal(await call('getSlot', null), processed - 32);
  assert.equal(await call('getSlot', { commitment: null }), processed - 32);
  await assert.rejects(call('getSlot', { commitment: 'soon' }), rejected(-32602));
});

test('genesis and blockhashes differ from chain to chain', async (t) => {
  const [one, two] = [await chainFor(t), await chainFor(t)];
  assert.notEqual(one.server.genesisHash, two.server.genesisHash);
  const there = await two.blockhash();
  assert.equal((await one.call('isBlockhashValid', there, { commitment: 'processed' })).value, false);
  const given = await chainFor(t, { genesisHash: b58(Buffer.alloc(32, 9)) });
  assert.equal(await given.call('getGenesisHash'), b58(Buffer.alloc(32, 9)));
});

test('latest blockhash', async (t) => {
  const { call } = await chainFor(t);
  const { value, context } = await call('getLatestBlockhash', { commitment: 'confirmed' });
  assert.equal(unb58(value.blockhash).length, 32);
  const height = await call('getBlockHeight', { commitment: 'confirmed' });
  assert.equal(value.lastValidBlockHeight, height + 150);
  const valid = async (commitment) => (await call('isBlockhashValid', value.blockhash, { commitment })).value;
  assert.equal(context.slot, await call('getSlot', { commitment: 'confirmed' }));
  assert.equal(await valid('confirmed'), true);
  assert.equal(await valid('finalized'), false, 'the finalized bank is older than this blockhash');
  await call('devchain_advance', { slots: 149 });
  assert.equal(await valid('processed'), true);
  await call('devchain_advance', { slots: 1 });
  assert.equal(await valid('processed'), false);
});

test('fee of a message', async (t) => {
  const { call, blockhash } = await chainFor(t);
  const wallet = keypair();
  const bytes = build({ signers: [wallet], instructions: [transfer(wallet.key, SYSTEM, 1)], blockhash: await blockhash() });
  const fee = async (message) => (await call('getFeeForMessage', message.toString('base64'), { commitment: 'processed' })).value;
  assert.equal(BigInt(await fee(bytes.subarray(65))), FEE);
  const unknown = build({ signers: [wallet], instructions: [], blockhash: b58(Buffer.alloc(32, 1)) });
  assert.equal(await fee(unknown.subarray(65)), null);
  await assert.rejects(call('getFeeForMessage', '!!'), rejected(-32602));
  await assert.rejects(call('getFeeForMessage', 'AAAA'), rejected(-32602));
});

test('rent', async (t) => {
  const { call } = await chainFor(t);
  assert.equal(await call('getMinimumBalanceForRentExemption', 165), 2_039_280);
  assert.equal(await call('getMinimumBalanceForRentExemption', 0), 890_880);
  await assert.rejects(call('getMinimumBalanceForRentExemption', -1), rejected(-32602));
});

test('accounts', async (t) => {
  const { call, funded, post } = await chainFor(t);
  const wallet = await funded(3n * SOL);
  const { value } = await call('getAccountInfo', wallet.address, { encoding: 'base64' });
  assert.deepEqual({ ...value, rentEpoch: 0 }, { data: ['', 'base64'], executable: false, lamports: 3e9, owner: b58(SYSTEM), rentEpoch: 0, space: 0 });
  const nobody = keypair().address;
  assert.equal((await call('getAccountInfo', nobody, { encoding: 'base64' })).value, null);
  assert.equal((await call('getBalance', nobody)).value, 0);
  const many = await call('getMultipleAccounts', [wallet.address, nobody]);
  assert.equal(many.value[0].lamports, 3e9);
  assert.equal(many.value[1], null);
  await assert.rejects(call('getMultipleAccounts', Array(101).fill(nobody)), rejected(-32602, /max 100/));
  const response = await post(`{"jsonrpc":"2.0","id":1,"method":"getAccountInfo","params":["${wallet.address}"]}`);
  assert.match(await response.text(), /"rentEpoch":18446744073709551615[,}]/, 'a u64 is printed exactly');
});

test('a key of the wrong length never reaches the VM', async (t) => {
  const { call } = await chainFor(t);
  for (const bad of [b58(Buffer.alloc(31, 1)), b58(Buffer.alloc(33, 1)), '', '0OIl', 7, null]) {
    await assert.rejects(call('getBalance', bad), rejected(-32602), String(bad));
    await assert.rejects(call('getAccountInfo', bad), rejected(-32602));
    await assert.rejects(call('requestAirdrop', bad, 1), rejected(-32602));
  }
  for (const bad of [b58(Buffer.alloc(63, 1)), 'x']) {
    await assert.rejects(call('getSignatureStatuses', [bad]), rejected(-32602));
    await assert.rejects(call('getTransaction', bad), rejected(-32602));
  }
  assert.equal(await call('getHealth'), 'ok');
});

test('data slices and encodings', async (t) => {
  const { call, setAccount } = await chainFor(t);
  const { address } = keypair();
  await setAccount(address, SOL, SYSTEM, Buffer.from([1, 2, 3, 4]));
  const data = async (config) => (await call('getAccountInfo', address, config)).value.data;
  assert.deepEqual(await data({ encoding: 'base64', dataSlice: { offset: 1, length: 2 } }), ['AgM=', 'base64']);
  assert.deepEqual(await data({ encoding: 'base58' }), [b58(Buffer.from([1, 2, 3, 4])), 'base58']);
  assert.deepEqual(await data({ encoding: 'jsonParsed' }), ['AQIDBA==', 'base64']);
  await setAccount(address, SOL, SYSTEM, Buffer.alloc(129));
  await assert.rejects(data({ encoding: 'base58' }), rejected(-32602, /128 bytes/));
});

test('token accounts', async (t) => {
  const { call, setAccount } = await chainFor(t);
  const [owner, mint, mint22, held, held22] = Array.from({ length: 5 }, keypair);
  await setAccount(mint.address, SOL, TOKEN, mintData(6, 5_000_000n));
  await setAccount(mint22.address, SOL, TOKEN_2022, mintData(9));
  await setAccount(held.address, 2_039_280, TOKEN, tokenData(mint.key, owner.key, 1_500_000n));
  await setAccount(held22.address, 2_039_280, TOKEN_2022, tokenData(mint22.key, owner.key, 7n));

  const of = async (filter, config) => (await call('getTokenAccountsByOwner', owner.address, filter, config)).value;
  const [parsed] = await of({ mint: mint.address }, { encoding: 'jsonParsed' });
  assert.equal(parsed.pubkey, held.address);
  assert.equal(parsed.account.data.program, 'spl-token');
  assert.deepEqual(parsed.account.data.parsed.info.tokenAmount, { amount: '1500000', decimals: 6, uiAmount: 1.5, uiAmountString: '1.5' });
  assert.equal(parsed.account.data.parsed.info.owner, owner.address);
  const [binary] = await of({ programId: b58(TOKEN_2022) });
  assert.equal(binary.pubkey, held22.address);
  assert.equal(Buffer.from(binary.account.data[0], 'base64').length, 165);
  assert.deepEqual(await of({ programId: b58(TOKEN) }, { encoding: 'base64' }).then((l) => l.length), 1);
  await assert.rejects(of({ mint: keypair().address }), rejected(-32602, /could not find mint/));
  await assert.rejects(of({ programId: b58(SYSTEM) }), rejected(-32602, /unrecognized Token program/));
  await assert.rejects(of({}), rejected(-32602));

  assert.equal((await call('getTokenAccountBalance', held.address)).value.uiAmountString, '1.5');
  await assert.rejects(call('getTokenAccountBalance', owner.address), rejected(-32602, /could not find account/));
  await assert.rejects(call('getTokenAccountBalance', mint.address), rejected(-32602, /not a Token account/));
  assert.equal((await call('getTokenSupply', mint.address)).value.amount, '5000000');
  const parsedMint = (await call('getAccountInfo', mint.address, { encoding: 'jsonParsed' })).value.data.parsed;
  assert.equal(parsedMint.type, 'mint');
  assert.equal(parsedMint.info.decimals, 6);

  const found = await call('getProgramAccounts', b58(TOKEN), {
    encoding: 'base64',
    filters: [{ dataSize: 165 }, { memcmp: { offset: 32, bytes: owner.address } }],
  });
  assert.deepEqual(found.map(({ pubkey }) => pubkey), [held.address]);
});

test('a balance is what it was at the commitment asked for', async (t) => {
  const { call, funded, balance, blockhash, send } = await chainFor(t);
  const [wallet, other] = [await funded(), keypair()];
  const pay = async (lamports) =>
    send(build({ signers: [wallet], instructions: [transfer(wallet.key, other.key, lamports)], blockhash: await blockhash() }));
  await pay(SOL);
  await call('devchain_advance', { slots: 1 });
  await pay(2n * SOL);
  const at = () => Promise.all(['processed', 'confirmed', 'finalized'].map((commitment) => balance(other.address, commitment)));
  assert.deepEqual(await at(), [3n * SOL, SOL, 0n]);
  await call('devchain_advance', { slots: 1 });
  assert.deepEqual(await at(), [3n * SOL, 3n * SOL, 0n]);
  await call('devchain_advance', { slots: 30 });
  assert.deepEqual(await at(), [3n * SOL, 3n * SOL, SOL]);
  await call('devchain_advance', { slots: 1 });
  assert.deepEqual(await at(), [3n * SOL, 3n * SOL, 3n * SOL]);
});

test('prioritization fees', async (t) => {
  const { call, funded, send, blockhash } = await chainFor(t);
  const fees = await call('getRecentPrioritizationFees', []);
  assert.equal(fees.length, 150);
  assert.deepEqual(Object.keys(fees[0]).sort(), ['prioritizationFee', 'slot']);
  assert.equal((await call('getRecentPrioritizationFees', null)).length, 150);

  const wallet = await funded();
  const pay = async (price) =>
    send(build({ signers: [wallet], instructions: [unitPrice(price), transfer(wallet.key, wallet.key, 1)], blockhash: await blockhash() }));
  await call('devchain_advance', { slots: 1 }); // the airdrop paid none, in the slot before
  await pay(900);
  await pay(400);
  const newest = async (...accounts) => (await call('getRecentPrioritizationFees', accounts)).at(-1).prioritizationFee;
  assert.equal(await newest(wallet.address), 400);
  assert.equal(await newest(keypair().address), 0);
});
