// The strict reader of transactions: legacy, v0, and v1 (SIMD-0385).
//
// The VM aborts the whole process on bytes it cannot read, and accepts trailing bytes and
// oversized packets, so nothing reaches it that this file has not understood to the last byte.

import { toBase58 } from './base58.mjs';

const PACKET_LIMIT = 1232;
export const PACKET_LIMIT_V1 = 4096;

const V1_MARK = 0x81;
const V1_LIMITS = { signatures: 12, addresses: 64, instructions: 64 };

export class WireError extends Error {}

const isV1 = (bytes) => bytes[0] === V1_MARK;
export const packetLimit = (bytes) => (isV1(bytes) ? PACKET_LIMIT_V1 : PACKET_LIMIT);

// A whole transaction: signatures and message.
export function parseTransaction(bytes) {
  const limit = packetLimit(bytes);
  if (bytes.length > limit) throw new WireError(`too large: ${bytes.length} bytes (max: ${limit} bytes)`);
  return isV1(bytes) ? parseTransactionV1(bytes) : parseTransactionV0(bytes);
}

// A message without signatures, as getFeeForMessage takes it.
export function parseMessage(bytes) {
  const reader = new Reader(bytes);
  const message = isV1(bytes) ? readMessageV1(reader) : readMessage(reader);
  reader.end();
  return message;
}

function parseTransactionV0(bytes) {
  const reader = new Reader(bytes);
  const count = reader.shortVec();
  const signatures = reader.list(count, () => reader.bytes(64));
  const messageStart = reader.at;
  const message = readMessage(reader);
  reader.end();
  if (count !== message.header.signatures) {
    throw new WireError(`${count} signatures, but the header asks for ${message.header.signatures}`);
  }
  return finish(bytes, signatures, bytes.subarray(messageStart), message);
}

function parseTransactionV1(bytes) {
  const reader = new Reader(bytes);
  const message = readMessageV1(reader);
  const messageEnd = reader.at;
  const signatures = reader.list(message.header.signatures, () => reader.bytes(64));
  reader.end();
  return finish(bytes, signatures, bytes.subarray(0, messageEnd), message);
}

function finish(bytes, signatures, messageBytes, message) {
  return { ...message, bytes, signatures, messageBytes, signature: toBase58(signatures[0]) };
}

function readMessage(reader) {
  let version = 'legacy';
  if (reader.peek() & 0x80) {
    version = reader.u8() & 0x7f;
    if (version !== 0) throw new WireError(`message version ${version} is not known`);
  }
  const header = readHeader(reader);
  const keys = reader.list(reader.shortVec(), () => reader.bytes(32));
  const blockhash = reader.bytes(32);
  const instructions = reader.list(reader.shortVec(), () => ({
    program: reader.u8(),
    accounts: [...reader.bytes(reader.shortVec())],
    data: reader.bytes(reader.shortVec()),
  }));
  const lookups =
    version === 0
      ? reader.list(reader.shortVec(), () => ({
          table: reader.bytes(32),
          writable: [...reader.bytes(reader.shortVec())],
          readonly: [...reader.bytes(reader.shortVec())],
        }))
      : [];
  return check({ version, header, keys, blockhash, instructions, lookups, config: null });
}

function readMessageV1(reader) {
  reader.u8();
  const header = readHeader(reader);
  const mask = reader.u32();
  const blockhash = reader.bytes(32);
  const instructionCount = reader.u8();
  const keyCount = reader.u8();
  if (header.signatures > V1_LIMITS.signatures) throw new WireError('more than 12 signatures');
  if (keyCount > V1_LIMITS.addresses) throw new WireError('more than 64 addresses');
  if (instructionCount > V1_LIMITS.instructions) throw new WireError('more than 64 instructions');
  const keys = reader.list(keyCount, () => reader.bytes(32));
  // In the older formats a repeated key is for the runtime to refuse (AccountLoadedTwice).
  if (new Set(keys.map((key) => key.toString('hex'))).size !== keys.length) {
    throw new WireError('an account key is listed twice');
  }
  const config = readConfig(reader, mask);
  const heads = reader.list(instructionCount, () => ({
    program: reader.u8(),
    accounts: reader.u8(),
    data: reader.u16(),
  }));
  const instructions = heads.map((head) => ({
    program: head.program,
    accounts: [...reader.bytes(head.accounts)],
    data: reader.bytes(head.data),
  }));
  return check({ version: 1, header, keys, blockhash, instructions, lookups: [], config });
}

function readConfig(reader, mask) {
  if (mask & ~0b11111) throw new WireError('an unknown bit in the config mask');
  const feeBits = mask & 0b11;
  if (feeBits === 0b01 || feeBits === 0b10) throw new WireError('half of a priority fee in the config mask');
  const config = { priorityFee: 0n, computeUnitLimit: 0, loadedDataLimit: 0, heapSize: 32768 };
  if (feeBits) config.priorityFee = reader.u64();
  if (mask & 0b100) config.computeUnitLimit = reader.u32();
  if (mask & 0b1000) config.loadedDataLimit = reader.u32();
  if (mask & 0b10000) config.heapSize = reader.u32();
  if (config.heapSize % 1024 || config.heapSize < 32768 || config.heapSize > 262144) {
    throw new WireError('heap size must be a multiple of 1024 from 32768 to 262144');
  }
  return config;
}

function readHeader(reader) {
  return { signatures: reader.u8(), readonlySigned: reader.u8(), readonlyUnsigned: reader.u8() };
}

function check(message) {
  const { header, keys, instructions, lookups } = message;
  if (header.signatures < 1 || header.readonlySigned >= header.signatures) {
    throw new WireError('no writable signer to pay the fee');
  }
  if (header.signatures + header.readonlyUnsigned > keys.length) {
    throw new WireError('the header counts more accounts than there are');
  }
  const loaded = lookups.reduce((sum, lookup) => sum + lookup.writable.length + lookup.readonly.length, 0);
  if (lookups.some((lookup) => lookup.writable.length + lookup.readonly.length === 0)) {
    throw new WireError('an address lookup that loads nothing');
  }
  const total = keys.length + loaded;
  if (total > 256) throw new WireError('more than 256 accounts');
  for (const { program, accounts } of instructions) {
    // Program ids are static keys, and never the fee payer.
    if (program === 0 || program >= keys.length) throw new WireError('a program index is out of range');
    if (accounts.some((index) => index >= total)) throw new WireError('an account index is out of range');
  }
  return message;
}

// Whether a static account is writable in the message.
export function isWritable(message, index) {
  const { signatures, readonlySigned, readonlyUnsigned } = message.header;
  if (index < signatures) return index < signatures - readonlySigned;
  return index < message.keys.length - readonlyUnsigned;
}

class Reader {
  constructor(bytes) {
    this.source = bytes;
    this.at = 0;
  }

  bytes(count) {
    if (this.at + count > this.source.length) throw new WireError('the bytes end too early');
    this.at += count;
    return this.source.subarray(this.at - count, this.at);
  }

  list(count, read) {
    const items = [];
    for (let i = 0; i < count; i++) items.push(read());
    return items;
  }

  peek() {
    if (this.at >= this.source.length) throw new WireError('the bytes end too early');
    return this.source[this.at];
  }

  u8() {
    return this.bytes(1)[0];
  }

  u16() {
    return this.bytes(2).readUInt16LE();
  }

  u32() {
    return this.bytes(4).readUInt32LE();
  }

  u64() {
    return this.bytes(8).readBigUInt64LE();
  }

  // The compact length of Solana's wire format: 7 bits a byte, at most 3 bytes, one spelling only.
  shortVec() {
    let value = 0;
    for (let position = 0; position < 3; position++) {
      const byte = this.u8();
      value |= (byte & 0x7f) << (7 * position);
      if (byte & 0x80) continue;
      if (position > 0 && byte === 0) throw new WireError('a length has a second spelling');
      if (value > 0xffff) throw new WireError('a length is above 65535');
      return value;
    }
    throw new WireError('a length takes more than 3 bytes');
  }

  end() {
    if (this.at !== this.source.length) {
      throw new WireError(`${this.source.length - this.at} bytes are left over`);
    }
  }
}
