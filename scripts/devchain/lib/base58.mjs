// Base58 for keys, hashes and signatures, with the lengths checked: a key of 31 bytes would
// abort the VM, and with it the process.

import bs58 from 'bs58';

export const toBase58 = (bytes) => bs58.encode(bytes);

export function fromBase58(text, length) {
  if (typeof text !== 'string') return null;
  const bytes = bs58.decodeUnsafe(text);
  if (!bytes || (length !== undefined && bytes.length !== length)) return null;
  return Buffer.from(bytes);
}
