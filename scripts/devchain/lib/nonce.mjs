// Durable nonces: a transaction that begins by advancing a nonce account may carry that
// account's stored hash instead of a recent blockhash, and then it does not expire.

import { toBase58 } from './base58.mjs';
import { SYSTEM } from './programs.mjs';
import { isWritable } from './wire.mjs';

const ADVANCE_NONCE = 4;
const NONCE_SIZE = 80;
const INITIALIZED = 1;

export function usesValidNonce(transaction, accountOf) {
  const [first] = transaction.instructions;
  if (!first || !transaction.keys[first.program].equals(SYSTEM)) return false;
  if (first.data.length < 4 || first.data.readUInt32LE() !== ADVANCE_NONCE) return false;
  const [index] = first.accounts;
  if (index === undefined || index >= transaction.keys.length || !isWritable(transaction, index)) return false;
  const account = accountOf(transaction.keys[index]);
  if (!account?.owner.equals(SYSTEM) || account.data.length !== NONCE_SIZE) return false;
  if (account.data.readUInt32LE(4) !== INITIALIZED) return false;
  return toBase58(account.data.subarray(40, 72)) === toBase58(transaction.blockhash);
}
