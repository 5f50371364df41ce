// From the text of sendTransaction and simulateTransaction to a transaction that has been read
// to its last byte, with the refusals of a node.

import { fromBase58 } from './base58.mjs';
import { invalidParams } from './errors.mjs';
import { strictBase64 } from './params.mjs';
import { packetLimit, PACKET_LIMIT_V1, parseTransaction, WireError } from './wire.mjs';

const TYPE = 'solana_transaction::versioned::VersionedTransaction';
// What a packet of the largest format takes as text.
const TEXT_LIMIT = { base58: Math.ceil(PACKET_LIMIT_V1 * 1.366), base64: Math.ceil(PACKET_LIMIT_V1 / 3) * 4 };

export function receiveTransaction(text, encoding = 'base58') {
  if (typeof text !== 'string') throw invalidParams('Invalid params: the transaction must be text.');
  if (encoding !== 'base58' && encoding !== 'base64') {
    throw invalidParams(`unsupported encoding: ${encoding}. Supported encodings: base58, base64`);
  }
  if (text.length > TEXT_LIMIT[encoding]) throw tooLarge(`${encoding} encoded`, text.length, TEXT_LIMIT[encoding]);
  const bytes = encoding === 'base58' ? fromBase58(text) : strictBase64(text);
  if (!bytes) throw invalidParams(`invalid ${encoding} encoding`);
  if (bytes.length > packetLimit(bytes)) throw tooLarge('decoded', bytes.length, packetLimit(bytes));
  try {
    return parseTransaction(bytes);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    throw invalidParams(`failed to deserialize ${TYPE}: ${cause.message}`);
  }
}

function tooLarge(what, length, limit) {
  return invalidParams(`${what} ${TYPE} too large: ${length} bytes (max: ${limit} bytes)`);
}
