// What any Solana RPC server must do for this project: one list, run on ours and on a server
// that others wrote, so that code is not fitted to our own mistakes.
//
// `surfpool` is the reason why that server is known to fail a check; it must then really fail,
// so that the list stays true.

import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';

import { b58, build, keypair, rejected, SOL, SYSTEM, transfer, unb58, unitLimit, unitPrice } from '../testkit.mjs';

const PATIENCE_MS = 30_000;

export const checks = [
  {
    name: 'health, version, genesis',
    async run({ call }) {
      assert.equal(await call('getHealth'), 'ok');
      assert.match((await call('getVersion'))['solana-core'], /^\d+\.\d+/);
      assert.equal(unb58(await call('getGenesisHash')).length, 32);
    },
  },
  {
    name: 'finalized is behind confirmed, confirmed not ahead of processed',
    async run({ call }) {
      const at = async (commitment) => call('getSlot', { commitment });
      const [finalized, confirmed, processed] = [await at('finalized'), await at('confirmed'), await at('processed')];
      assert.ok(finalized < confirmed && confirmed <= processed);
    },
  },
  {
    name: 'blockhash: valid, with a last height ahead',
    async run({ call }) {
      const { value } = await call('getLatestBlockhash', { commitment: 'confirmed' });
      assert.equal((await call('isBlockhashValid', value.blockhash, { commitment: 'processed' })).value, true);
      assert.ok(value.lastValidBlockHeight > (await call('getBlockHeight', { commitment: 'confirmed' })));
      assert.equal((await call('isBlockhashValid', b58(Buffer.alloc(32, 9)), { commitment: 'processed' })).value, false);
    },
  },
  {
    name: 'blockhash: 150 blocks of life',
    async run({ call }) {
      const { context, value } = await call('getLatestBlockhash', { commitment: 'processed' });
      const { absoluteSlot, blockHeight } = await call('getEpochInfo', { commitment: 'processed' });
      const skipped = absoluteSlot - blockHeight;
      assert.equal(value.lastValidBlockHeight, context.slot - skipped + 150);
    },
  },
  {
    name: 'rent',
    async run({ call }) {
      assert.equal(await call('getMinimumBalanceForRentExemption', 165), 2_039_280);
    },
  },
  {
    name: 'an account that is not there',
    async run({ call }) {
      const { address } = keypair();
      assert.equal((await call('getAccountInfo', address, { encoding: 'base64' })).value, null);
      assert.deepEqual((await call('getMultipleAccounts', [address])).value, [null]);
    },
  },
  {
    name: 'the balance of an account that is not there is 0',
    async run({ call }) {
      assert.equal((await call('getBalance', keypair().address)).value, 0);
    },
  },
  {
    name: 'account data comes with its encoding',
    async run({ call, wallet }) {
      const { value } = await call('getAccountInfo', wallet.address, { encoding: 'base64', commitment: 'processed' });
      assert.deepEqual(value.data, ['', 'base64']);
      assert.equal(value.owner, b58(SYSTEM));
    },
  },
  {
    name: 'u64 printed exactly',
    async run({ post, wallet }) {
      const params = [wallet.address, { commitment: 'processed', encoding: 'base64' }];
      const text = await (await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getAccountInfo', params }))).text();
      assert.match(text, /"rentEpoch":(18446744073709551615|0)[,}]/);
    },
  },
  {
    name: 'wrong parameters',
    async run({ call }) {
      await assert.rejects(call('getBalance', 'x'), rejected(-32602));
      await assert.rejects(call('sendTransaction', 'AAAA', { encoding: 'base64' }), rejected(-32602));
      await assert.rejects(call('nope'), rejected(-32601));
    },
  },
  {
    name: 'fee: base',
    async run({ call, payment }) {
      const bytes = await payment(1_000_000);
      const { value } = await call('getFeeForMessage', bytes.subarray(65).toString('base64'), { commitment: 'processed' });
      assert.equal(value, 5000);
    },
  },
  {
    name: 'fee: with a priority',
    surfpool: 'charges the priority fee and leaves it out of the answer',
    async run({ call, payment }) {
      const bytes = await payment(1_000_000, [unitLimit(100_000), unitPrice(1_000_000)]);
      const { value } = await call('getFeeForMessage', bytes.subarray(65).toString('base64'), { commitment: 'processed' });
      assert.equal(value, 105_000);
    },
  },
  {
    name: 'simulation: success, with the accounts after it',
    async run({ simulate, payment, wallet, to }) {
      const { value } = await simulate(await payment(SOL), { accounts: { encoding: 'base64', addresses: [to.address] } });
      assert.equal(value.err, null);
      assert.ok(value.unitsConsumed > 0);
      assert.equal(value.accounts[0].lamports, 1e9);
      assert.ok(wallet);
    },
  },
  {
    name: 'simulation: failure',
    async run({ simulate, payment }) {
      const { value } = await simulate(await payment(1000n * SOL), {});
      assert.deepEqual(value.err, { InstructionError: [0, { Custom: 1 }] });
      assert.match(value.logs.join('\n'), /insufficient lamports/);
    },
  },
  {
    name: 'simulation: replaced blockhash',
    async run({ simulate, payment }) {
      const stale = await payment(SOL, [], b58(Buffer.alloc(32, 9)));
      const { value } = await simulate(stale, { replaceRecentBlockhash: true });
      assert.equal(value.err, null);
      assert.equal(unb58(value.replacementBlockhash.blockhash).length, 32);
    },
  },
  {
    name: 'simulation: sigVerify and replaceRecentBlockhash exclude each other',
    async run({ simulate, payment }) {
      await assert.rejects(simulate(await payment(SOL), { replaceRecentBlockhash: true, sigVerify: true }), rejected(-32602));
    },
  },
  {
    name: 'send: lands, and its status rises to finalized',
    async run({ send, payment, status }) {
      const signature = await send(await payment(1_000_000));
      const found = await until(() => status(signature), (value) => value?.confirmationStatus === 'finalized');
      assert.equal(found.err, null);
      assert.equal(found.confirmations, null);
      assert.deepEqual(found.status, { Ok: null });
    },
  },
  {
    name: 'send: preflight failure is -32002 with the simulation',
    async run({ send, payment }) {
      await assert.rejects(send(await payment(1000n * SOL)), (error) => {
        assert.equal(error.code, -32002);
        assert.deepEqual(error.data.err, { InstructionError: [0, { Custom: 1 }] });
        return true;
      });
    },
  },
  {
    name: 'send: a bad signature is -32003',
    surfpool: 'answers -32002',
    async run({ send, payment }) {
      const bytes = await payment(1_000_000);
      bytes[20] ^= 1;
      await assert.rejects(send(bytes), rejected(-32003));
    },
  },
  {
    name: 'send: an unknown blockhash',
    async run({ send, payment }) {
      await assert.rejects(send(await payment(1_000_000, [], b58(Buffer.alloc(32, 9)))), (error) => {
        assert.equal(error.code, -32002);
        assert.equal(error.data.err, 'BlockhashNotFound');
        return true;
      });
    },
  },
  {
    name: 'send: more than 1232 bytes is -32602',
    async run({ call }) {
      await assert.rejects(call('sendTransaction', Buffer.alloc(1300, 1).toString('base64'), { encoding: 'base64' }), rejected(-32602, /too large/));
    },
  },
  {
    name: 'send: the same bytes again are AlreadyProcessed',
    surfpool: 'says so in words, with another code and without the simulation',
    async run({ send, payment, status }) {
      const bytes = await payment(2_000_000);
      const signature = await send(bytes);
      await until(() => status(signature), (value) => value !== null);
      await assert.rejects(send(bytes), (error) => error.code === -32002 && error.data?.err === 'AlreadyProcessed');
    },
  },
  {
    name: 'send: the same bytes again without preflight are taken in silence',
    surfpool: 'answers an error',
    async run({ send, payment, status }) {
      const bytes = await payment(3_000_000);
      const signature = await send(bytes);
      await until(() => status(signature), (value) => value !== null);
      assert.equal(await send(bytes, { skipPreflight: true }), signature);
    },
  },
  {
    name: 'unknown signatures',
    async run({ call, status }) {
      const unknown = b58(Buffer.alloc(64, 3));
      assert.equal(await status(unknown), null);
      assert.equal(await call('getTransaction', unknown, { commitment: 'confirmed' }), null);
    },
  },
  {
    name: 'transaction: what it cost and moved',
    async run({ call, send, payment, status }) {
      const signature = await send(await payment(4_000_000));
      await until(() => status(signature), (value) => value?.confirmationStatus === 'finalized');
      const { meta, transaction, slot } = await call('getTransaction', signature, { maxSupportedTransactionVersion: 0, encoding: 'json' });
      assert.equal(meta.fee, 5000);
      assert.equal(meta.postBalances[0], meta.preBalances[0] - 4_005_000);
      assert.equal(transaction.signatures[0], signature);
      assert.ok(slot > 0);
    },
  },
  {
    name: 'transaction: v0 is refused to a client that names no version',
    surfpool: 'answers it all the same',
    async run({ call, send, payment, status }) {
      const signature = await send(await payment(5_000_000, [], undefined, 0));
      await until(() => status(signature), (value) => value?.confirmationStatus === 'finalized');
      assert.equal((await call('getTransaction', signature, { maxSupportedTransactionVersion: 0 })).version, 0);
      await assert.rejects(call('getTransaction', signature), rejected(-32015));
    },
  },
  {
    name: 'history of an address, newest first',
    async run({ call, send, payment, status, to }) {
      const first = await send(await payment(6_000_000));
      await until(() => status(first), (value) => value?.confirmationStatus === 'finalized');
      const second = await send(await payment(7_000_000));
      await until(() => status(second), (value) => value?.confirmationStatus === 'finalized');
      const list = (await call('getSignaturesForAddress', to.address, { limit: 2 })).map(({ signature }) => signature);
      assert.deepEqual(list, [second, first]);
    },
  },
];

async function until(ask, done) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const answer = await ask();
    if (done(answer)) return answer;
    if (Date.now() > end) throw new Error(`still ${JSON.stringify(answer)} after ${PATIENCE_MS} ms`);
    await sleep(20);
  }
}

// The state a check starts from: a wallet with money, and somebody to pay.
export async function world(node) {
  const [wallet, to] = [keypair(), keypair()];
  const status = async (signature) => (await node.call('getSignatureStatuses', [signature], { searchTransactionHistory: true })).value[0];
  const signature = await node.call('requestAirdrop', wallet.address, 20n * SOL);
  await until(() => status(signature), (value) => value !== null);
  const payment = async (lamports, before = [], blockhash, version = 'legacy') =>
    build({
      signers: [wallet],
      instructions: [...before, transfer(wallet.key, to.key, lamports)],
      blockhash: blockhash ?? (await node.blockhash()),
      version,
    });
  return { ...node, wallet, to, status, payment };
}
