// ed25519 verification of a transaction's signatures.

import { createPublicKey, verify } from 'node:crypto';

const SPKI_PREFIX = Buffer.from('302a300506032b6570032100', 'hex');

export function signaturesVerify(transaction) {
  return transaction.signatures.every((signature, index) => verifyOne(transaction, signature, index));
}

function verifyOne({ messageBytes, keys }, signature, index) {
  try {
    const der = Buffer.concat([SPKI_PREFIX, keys[index]]);
    return verify(null, messageBytes, createPublicKey({ key: der, format: 'der', type: 'spki' }), signature);
  } catch {
    return false; // not a point on the curve
  }
}
