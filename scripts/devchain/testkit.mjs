// What the tests build transactions with: their own encoder, apart from the reader under test.

import { createHash, generateKeyPairSync, sign } from 'node:crypto';

import bs58 from 'bs58';

import { startServer } from './lib/server.mjs';

export const SOL = 1_000_000_000n;
export const FEE = 5_000n;

export const b58 = (bytes) => bs58.encode(bytes);
export const unb58 = (text) => Buffer.from(bs58.decode(text));

export const SYSTEM = unb58('11111111111111111111111111111111');
export const TOKEN = unb58('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const TOKEN_2022 = unb58('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');
export const COMPUTE_BUDGET = unb58('ComputeBudget111111111111111111111111111111');
export const LOOKUP_TABLE = unb58('AddressLookupTab1e1111111111111111111111111');

export function keypair() {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
  return { key, address: b58(key), sign: (message) => sign(null, message, privateKey) };
}

// A chain in this process whose slots pass only when told to, and that is closed with the test.
export async function chainFor(t, options = {}) {
  const server = await startServer({ dev: true, clock: false, ...options });
  t.after(() => server.close());
  return client(server);
}

export function client(server) {
  const post = (body) =>
    fetch(server.rpc, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const raw = async (method, ...params) => {
    const response = await post(stringify({ jsonrpc: '2.0', id: 1, method, params }));
    return response.json();
  };
  const call = async (method, ...params) => {
    const { result, error } = await raw(method, ...params);
    if (error) throw Object.assign(new Error(error.message), error);
    return result;
  };
  const blockhash = async (commitment = 'processed') =>
    (await call('getLatestBlockhash', { commitment })).value.blockhash;
  const funded = async (lamports = 10n * SOL) => {
    const wallet = keypair();
    await call('devchain_airdrop', wallet.address, lamports);
    return wallet;
  };
  const send = (bytes, config = {}) =>
    call('sendTransaction', bytes.toString('base64'), { encoding: 'base64', preflightCommitment: 'processed', ...config });
  const simulate = (bytes, config = {}) =>
    call('simulateTransaction', bytes.toString('base64'), { encoding: 'base64', commitment: 'processed', ...config });
  const balance = async (address, commitment = 'processed') => BigInt((await call('getBalance', address, { commitment })).value);
  const setAccount = (address, lamports, owner, data = Buffer.alloc(0)) =>
    call('devchain_setAccount', address, { lamports, owner: b58(owner), data: data.toString('base64') });
  return { server, post, raw, call, blockhash, funded, send, simulate, balance, setAccount };
}

// JSON.stringify that can print a bigint.
function stringify(value) {
  const marked = JSON.stringify(value, (_, v) => (typeof v === 'bigint' ? `#${v}#` : v));
  return marked.replace(/"#(\d+)#"/g, '$1');
}

const shortVec = (count) => (count < 0x80 ? [count] : [(count & 0x7f) | 0x80, count >> 7]);
export const u32 = (value) => leave(4, (data) => data.writeUInt32LE(value));
export const u64 = (value) => leave(8, (data) => data.writeBigUInt64LE(BigInt(value)));

function leave(size, write) {
  const data = Buffer.alloc(size);
  write(data);
  return data;
}

export const meta = (key, flags = '') => ({ key, signer: flags.includes('s'), writable: flags.includes('w') });

export function transfer(from, to, lamports) {
  return {
    program: SYSTEM,
    accounts: [meta(from, 'sw'), meta(to, 'w')],
    data: Buffer.concat([u32(2), u64(lamports)]),
  };
}

export const unitLimit = (units) => ({ program: COMPUTE_BUDGET, accounts: [], data: Buffer.concat([Buffer.from([2]), u32(units)]) });
export const unitPrice = (price) => ({ program: COMPUTE_BUDGET, accounts: [], data: Buffer.concat([Buffer.from([3]), u64(price)]) });

// The order of the keys in a message, and its header.
function compile(payer, instructions, tables = []) {
  const metas = new Map([[b58(payer), { key: payer, signer: true, writable: true, invoked: false }]]);
  const note = (key, { signer, writable, invoked }) => {
    const known = metas.get(b58(key)) ?? { key, signer: false, writable: false, invoked: false };
    metas.set(b58(key), {
      key,
      signer: known.signer || signer,
      writable: known.writable || writable,
      invoked: known.invoked || invoked,
    });
  };
  for (const { program, accounts } of instructions) {
    for (const account of accounts) note(account.key, { ...account, invoked: false });
    note(program, { signer: false, writable: false, invoked: true });
  }
  const lookups = [];
  for (const table of tables) {
    const lookup = { table: table.key, writable: [], readonly: [], keys: { writable: [], readonly: [] } };
    table.addresses.forEach((key, index) => {
      const found = metas.get(b58(key));
      if (!found || found.signer || found.invoked) return;
      const side = found.writable ? 'writable' : 'readonly';
      lookup[side].push(index);
      lookup.keys[side].push(key);
      metas.delete(b58(key));
    });
    lookups.push(lookup);
  }
  const ranked = (signer, writable) => [...metas.values()].filter((m) => m.signer === signer && m.writable === writable);
  const [sw, sr, uw, ur] = [ranked(true, true), ranked(true, false), ranked(false, true), ranked(false, false)];
  const keys = [...sw, ...sr, ...uw, ...ur].map(({ key }) => key);
  const all = [
    ...keys,
    ...lookups.flatMap((lookup) => lookup.keys.writable),
    ...lookups.flatMap((lookup) => lookup.keys.readonly),
  ].map(b58);
  const index = (key) => all.indexOf(b58(key));
  return {
    header: Buffer.from([sw.length + sr.length, sr.length, ur.length]),
    keys,
    lookups,
    calls: instructions.map(({ program, accounts, data }) => ({
      program: index(program),
      accounts: accounts.map(({ key }) => index(key)),
      data,
    })),
  };
}

// signers: the fee payer first. `version` is 'legacy', 0 or 1.
export function build({ signers, instructions, blockhash, version = 'legacy', tables, config = {} }) {
  const message =
    version === 1
      ? messageV1(compile(signers[0].key, instructions), unb58(blockhash), config)
      : messageOld(compile(signers[0].key, instructions, tables), unb58(blockhash), version);
  const signatures = signers.map((signer) => signer.sign(message));
  if (version === 1) return Buffer.concat([message, ...signatures]);
  return Buffer.concat([Buffer.from(shortVec(signatures.length)), ...signatures, message]);
}

function messageOld({ header, keys, calls, lookups }, blockhash, version) {
  const parts = [header, Buffer.from(shortVec(keys.length)), ...keys, blockhash, Buffer.from(shortVec(calls.length))];
  for (const { program, accounts, data } of calls) {
    parts.push(Buffer.from([program, ...shortVec(accounts.length), ...accounts, ...shortVec(data.length)]), data);
  }
  if (version === 'legacy') return Buffer.concat(parts);
  parts.unshift(Buffer.from([0x80 | version]));
  parts.push(Buffer.from(shortVec(lookups.length)));
  for (const { table, writable, readonly } of lookups) {
    parts.push(table, Buffer.from([...shortVec(writable.length), ...writable, ...shortVec(readonly.length), ...readonly]));
  }
  return Buffer.concat(parts);
}

function messageV1({ header, keys, calls }, blockhash, { priorityFee, units, loadedData = 200_000 }) {
  let mask = 0b1000;
  const values = [];
  if (priorityFee !== undefined) {
    mask |= 0b11;
    values.push(u64(priorityFee));
  }
  if (units !== undefined) {
    mask |= 0b100;
    values.push(u32(units));
  }
  values.push(u32(loadedData));
  const heads = calls.map(({ program, accounts, data }) =>
    Buffer.from([program, accounts.length, data.length & 0xff, data.length >> 8]),
  );
  const payloads = calls.flatMap(({ accounts, data }) => [Buffer.from(accounts), data]);
  const counts = Buffer.from([calls.length, keys.length]);
  return Buffer.concat([Buffer.from([0x81]), header, u32(mask), blockhash, counts, ...keys, ...values, ...heads, ...payloads]);
}

// The bytes of a mint and of a token account, to be put in place.
export function mintData(decimals, supply = 10n ** 15n) {
  const data = Buffer.alloc(82);
  data.writeBigUInt64LE(supply, 36);
  data[44] = decimals;
  data[45] = 1;
  return data;
}

export function tokenData(mint, owner, amount) {
  const data = Buffer.concat([mint, owner, u64(amount), Buffer.alloc(93)]);
  data[108] = 1;
  return data;
}

export function tokenTransfer(source, destination, owner, amount, program = TOKEN) {
  return {
    program,
    accounts: [meta(source, 'w'), meta(destination, 'w'), meta(owner, 's')],
    data: Buffer.concat([Buffer.from([3]), u64(amount)]),
  };
}

// The address a program derives from seeds: the first hash, from bump 255 down, that is no key.
export function derive(program, ...seeds) {
  for (let bump = 255; bump >= 0; bump--) {
    const hash = createHash('sha256');
    for (const part of [...seeds, Buffer.from([bump]), program, Buffer.from('ProgramDerivedAddress')]) hash.update(part);
    const key = hash.digest();
    if (!onCurve(key)) return { key, address: b58(key), bump };
  }
  throw new Error('no address for these seeds');
}

const P = 2n ** 255n - 19n;
const D = 37095705934669439343138083508754565189542113879843219016388785533085940283555n;

// Whether the bytes are a point of ed25519: x² = (y² - 1) / (d y² + 1) has a root.
function onCurve(bytes) {
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`) & (2n ** 255n - 1n);
  const ySquared = (y * y) % P;
  const xSquared = ((ySquared + P - 1n) * power((D * ySquared + 1n) % P, P - 2n)) % P;
  return xSquared === 0n || power(xSquared, (P - 1n) / 2n) === 1n;
}

function power(base, exponent) {
  let result = 1n;
  for (let [b, e] = [base, exponent]; e > 0n; e >>= 1n) {
    if (e & 1n) result = (result * b) % P;
    b = (b * b) % P;
  }
  return result;
}

export const rejected = (code, pattern) => (error) => error.code === code && (pattern ?? /./).test(error.message);
