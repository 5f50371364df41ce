// Methods that read accounts and tokens.

import { fromBase58, toBase58 } from '../base58.mjs';
import { encodeAccount } from '../encode.mjs';
import { invalidParams } from '../errors.mjs';
import { base64Param, commitmentParam, configParam, contextSlot, keyParam } from '../params.mjs';
import { isTokenProgram, SYSTEM, TOKEN, TOKEN_2022 } from '../programs.mjs';
import { readMint, readTokenAccount, uiAmount } from '../tokens.mjs';
import { RENT_EXEMPT_EPOCH } from '../vm.mjs';

const MULTIPLE_LIMIT = 100;
// What a lie puts lamports on where there is no account.
const NOTHING = { owner: SYSTEM, data: Buffer.alloc(0), executable: false, rentEpoch: RENT_EXEMPT_EPOCH };

export const accountMethods = {
  getBalance(server, [address, config]) {
    const view = viewOf(server, config, 'getBalance');
    return view.answer(view.account(keyParam(address))?.lamports ?? 0);
  },

  getAccountInfo(server, [address, config]) {
    const view = viewOf(server, config, 'getAccountInfo');
    return view.answer(encodeAccount(view.account(keyParam(address)), view.config, view.account));
  },

  getMultipleAccounts(server, [addresses, config]) {
    const view = viewOf(server, config, 'getMultipleAccounts');
    if (!Array.isArray(addresses)) throw invalidParams('Invalid params: a list of addresses was expected.');
    if (addresses.length > MULTIPLE_LIMIT) throw invalidParams(`Too many inputs provided; max ${MULTIPLE_LIMIT}`);
    // Unlike the single form, this one speaks base64 unless told otherwise.
    const encoding = { encoding: 'base64', ...view.config };
    return view.answer(addresses.map((address) => encodeAccount(view.account(keyParam(address)), encoding, view.account)));
  },

  getProgramAccounts(server, [programId, config]) {
    const view = viewOf(server, config, 'getProgramAccounts');
    const program = keyParam(programId);
    const filters = (view.config.filters ?? []).map(readFilter);
    const value = server.chain.vm
      .programAccounts(program)
      .map(({ key }) => ({ key, account: view.account(key) }))
      .filter(({ account }) => account?.owner.equals(program) && filters.every((keep) => keep(account)))
      .map(({ key, account }) => keyed(key, account, view.config, view));
    return view.config.withContext ? view.answer(value) : value;
  },

  getTokenAccountsByOwner(server, [owner, filter, config]) {
    const view = viewOf(server, config, 'getTokenAccountsByOwner');
    const wanted = keyParam(owner);
    const { programs, keep } = tokenFilter(filter, view);
    const encoding = { encoding: 'base64', ...view.config };
    const value = programs
      .flatMap((program) => server.chain.vm.programAccounts(program))
      .map(({ key }) => ({ key, account: view.account(key) }))
      .filter(({ account }) => {
        const token = readTokenAccount(account);
        return token && token.owner.equals(wanted) && keep(token);
      })
      .map(({ key, account }) => keyed(key, account, encoding, view));
    return view.answer(value);
  },

  getTokenAccountBalance(server, [address, config]) {
    const view = viewOf(server, config, 'getTokenAccountBalance');
    const account = view.account(keyParam(address));
    if (!account) throw invalidParams('Invalid param: could not find account');
    const token = readTokenAccount(account);
    if (!token) throw invalidParams('Invalid param: not a Token account');
    return view.answer(uiAmount(token.amount, readMint(view.account(token.mint))?.decimals ?? 0));
  },

  getTokenSupply(server, [address, config]) {
    const view = viewOf(server, config, 'getTokenSupply');
    const account = view.account(keyParam(address));
    if (!account) throw invalidParams('Invalid param: could not find account');
    const mint = readMint(account);
    if (!mint) throw invalidParams('Invalid param: not a Token mint');
    return view.answer(uiAmount(mint.supply, mint.decimals));
  },
};

// What a call sees: the accounts at its commitment, as far as no fault lies about them.
function viewOf({ chain, faults }, given, method) {
  const config = configParam(given);
  const commitment = commitmentParam(config);
  const slot = contextSlot(chain, config, commitment);
  const lies = new Map(faults.takeAll('lie_balance', method).map((lie) => [lie.pubkey, BigInt(lie.lamports ?? 0)]));
  return {
    config,
    account(key) {
      const account = chain.account(key, commitment);
      const lamports = lies.get(toBase58(key));
      if (lamports === undefined) return account;
      return { ...(account ?? NOTHING), lamports };
    },
    answer: (value) => ({ context: { apiVersion: '4.3.0', slot }, value }),
  };
}

function keyed(key, account, config, view) {
  return { account: encodeAccount(account, config, view.account), pubkey: toBase58(key) };
}

function tokenFilter(filter, view) {
  if (filter?.mint !== undefined) {
    const mint = keyParam(filter.mint);
    const program = view.account(mint)?.owner;
    if (!program || !isTokenProgram(program)) throw invalidParams('Invalid param: could not find mint');
    return { programs: [program], keep: (token) => token.mint.equals(mint) };
  }
  if (filter?.programId !== undefined) {
    const program = keyParam(filter.programId);
    const known = [TOKEN, TOKEN_2022].filter((one) => one.equals(program));
    if (!known.length) throw invalidParams('Invalid param: unrecognized Token program id');
    return { programs: known, keep: () => true };
  }
  throw invalidParams('Invalid params: a filter by mint or programId was expected.');
}

function readFilter(filter) {
  if (filter?.dataSize !== undefined) return ({ data }) => data.length === filter.dataSize;
  const offset = filter?.memcmp?.offset;
  if (!Number.isSafeInteger(offset)) throw invalidParams('Invalid params: a filter is dataSize or memcmp.');
  const { bytes, encoding = 'base58' } = filter.memcmp;
  const wanted = encoding === 'base64' ? base64Param(bytes, 'memcmp.bytes') : fromBase58(bytes);
  if (!wanted) throw invalidParams('Invalid params: memcmp.bytes must be base58.');
  return ({ data }) => data.subarray(offset, offset + wanted.length).equals(wanted);
}
