// Inner instructions as a simulation shows them: with addresses instead of indexes, and spelled
// out for System transfers and token transfers, which is what readers of simulations look for.
// Any other call is shown with its data, as a node shows a program it cannot parse.

import { toBase58 } from './base58.mjs';
import { SYSTEM, TOKEN, TOKEN_2022 } from './programs.mjs';
import { uiAmount } from './tokens.mjs';

export function parsedCall({ program, accounts, data, stackHeight }, addresses) {
  const programId = addresses[program];
  const named = accounts.map((index) => addresses[index]);
  const parsed = parse(programId, named, data);
  if (parsed) return { ...parsed, programId, stackHeight };
  return { accounts: named, data: toBase58(data), programId, stackHeight };
}

const NAMES = new Map([
  [toBase58(SYSTEM), 'system'],
  [toBase58(TOKEN), 'spl-token'],
  [toBase58(TOKEN_2022), 'spl-token'],
]);

function parse(programId, accounts, data) {
  const program = NAMES.get(programId);
  if (program === 'system' && data.length === 12 && data.readUInt32LE() === 2 && accounts.length >= 2) {
    const [source, destination] = accounts;
    return { parsed: { info: { destination, lamports: data.readBigUInt64LE(4), source }, type: 'transfer' }, program };
  }
  // The plain transfer; a checked one carries decimals, and a multisig owner other names.
  if (program === 'spl-token' && data[0] === 3 && data.length === 9 && accounts.length === 3) {
    const [source, destination, authority] = accounts;
    const amount = data.readBigUInt64LE(1).toString();
    return { parsed: { info: { amount, authority, destination, source }, type: 'transfer' }, program };
  }
  if (program === 'spl-token' && data[0] === 12 && data.length === 10 && accounts.length === 4) {
    const [source, mint, destination, authority] = accounts;
    const tokenAmount = uiAmount(data.readBigUInt64LE(1), data[9]);
    return { parsed: { info: { authority, destination, mint, source, tokenAmount }, type: 'transferChecked' }, program };
  }
  return null;
}
