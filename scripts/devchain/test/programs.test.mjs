// Real programs of the chain, where they lean on what this server keeps for the VM: slot hashes,
// blockhashes, calls inside calls.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import {
  b58, build, chainFor, derive, keypair, LOOKUP_TABLE, meta, mintData, SOL, SYSTEM, TOKEN, transfer, u32, u64, unb58,
} from '../testkit.mjs';

const ASSOCIATED = unb58('ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL');
const RECENT_BLOCKHASHES = unb58('SysvarRecentB1ockHashes11111111111111111111');
const RENT = unb58('SysvarRent111111111111111111111111111111111');

async function world(t) {
  const chain = await chainFor(t);
  const wallet = await chain.funded();
  const to = keypair();
  const act = async (instructions, { signers = [wallet], ...more } = {}) =>
    chain.send(build({ signers, instructions, blockhash: await chain.blockhash(), ...more }));
  return { ...chain, wallet, to, act };
}

test('a lookup table made on the chain is usable one slot after', async (t) => {
  const { call, act, wallet, to, balance } = await world(t);
  await call('devchain_advance', { slots: 2 });
  const recent = (await call('getSlot', { commitment: 'processed' })) - 1;
  const table = derive(LOOKUP_TABLE, wallet.key, u64(recent));
  const authority = meta(wallet.key, 'sw');
  await act([
    {
      program: LOOKUP_TABLE,
      accounts: [meta(table.key, 'w'), meta(wallet.key, 's'), authority, meta(SYSTEM)],
      data: Buffer.concat([u32(0), u64(recent), Buffer.from([table.bump])]),
    },
    {
      program: LOOKUP_TABLE,
      accounts: [meta(table.key, 'w'), meta(wallet.key, 's'), authority, meta(SYSTEM)],
      data: Buffer.concat([u32(2), u64(1), to.key]),
    },
  ]);
  const use = () => act([transfer(wallet.key, to.key, SOL)], { version: 0, tables: [{ key: table.key, addresses: [to.key] }] });
  await assert.rejects(use(), (error) => error.data.err === 'InvalidAddressLookupTableIndex');
  await call('devchain_advance', { slots: 1 });
  await use();
  assert.equal(await balance(to.address), SOL);
});

test('a durable nonce outlives every blockhash, and works once', async (t) => {
  const { call, act, send, wallet, to, balance } = await world(t);
  const nonce = keypair();
  await act(
    [
      {
        program: SYSTEM,
        accounts: [meta(wallet.key, 'sw'), meta(nonce.key, 'sw')],
        data: Buffer.concat([u32(0), u64(2_000_000), u64(80), SYSTEM]),
      },
      {
        program: SYSTEM,
        accounts: [meta(nonce.key, 'w'), meta(RECENT_BLOCKHASHES), meta(RENT)],
        data: Buffer.concat([u32(6), wallet.key]),
      },
    ],
    { signers: [wallet, nonce] },
  );
  const { value } = await call('getAccountInfo', nonce.address, { encoding: 'base64', commitment: 'processed' });
  const stored = b58(Buffer.from(value.data[0], 'base64').subarray(40, 72));
  const advance = {
    program: SYSTEM,
    accounts: [meta(nonce.key, 'w'), meta(RECENT_BLOCKHASHES), meta(wallet.key, 's')],
    data: u32(4),
  };
  const bytes = build({ signers: [wallet], instructions: [advance, transfer(wallet.key, to.key, SOL)], blockhash: stored });
  await call('devchain_expireBlockhash');
  await send(bytes);
  assert.equal(await balance(to.address), SOL);
  await assert.rejects(send(bytes), (error) => error.code === -32002);
  await send(bytes, { skipPreflight: true });
  assert.equal(await balance(to.address), SOL);
});

test('calls inside calls: by index in history, by address in a simulation', async (t) => {
  const { call, act, simulate, setAccount, wallet, blockhash } = await world(t);
  const mint = keypair();
  await setAccount(mint.address, SOL, TOKEN, mintData(6));
  const held = derive(ASSOCIATED, wallet.key, TOKEN, mint.key);
  const create = {
    program: ASSOCIATED,
    accounts: [meta(wallet.key, 'sw'), meta(held.key, 'w'), meta(wallet.key), meta(mint.key), meta(SYSTEM), meta(TOKEN)],
    data: Buffer.from([1]),
  };
  const bytes = build({ signers: [wallet], instructions: [create], blockhash: await blockhash() });
  const { value } = await simulate(bytes, { innerInstructions: true, accounts: { encoding: 'jsonParsed', addresses: [held.address] } });
  assert.equal(value.err, null);
  const [{ index, instructions }] = value.innerInstructions;
  assert.equal(index, 0);
  assert.ok(instructions.length >= 2);
  assert.ok(instructions.every((one) => one.stackHeight === 2 && (one.parsed || one.accounts.every((a) => typeof a === 'string'))));
  assert.equal(value.accounts[0].data.parsed.info.owner, wallet.address);
  assert.equal(value.postTokenBalances[0].uiTokenAmount.amount, '0');

  const signature = await act([create]);
  await call('devchain_advance', { slots: 32 });
  const { meta: told } = await call('getTransaction', signature);
  assert.ok(told.innerInstructions[0].instructions.every((one) => Number.isInteger(one.programIdIndex) && one.stackHeight === 2));
  assert.equal(told.innerInstructions[0].instructions.length, instructions.length);
});
