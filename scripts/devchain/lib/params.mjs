// Reads the parameters of a call. A wrong one is -32602 with what was expected, never a guess.

import { fromBase58 } from './base58.mjs';
import { commitmentOf } from './chain.mjs';
import { invalidParams, MIN_CONTEXT_SLOT_NOT_REACHED, RpcError } from './errors.mjs';

export function keyParam(value) {
  const key = fromBase58(value, 32);
  if (!key) throw invalidParams('Invalid param: WrongSize');
  return key;
}

export function signatureParam(value) {
  if (!fromBase58(value, 64)) throw invalidParams('Invalid param: Invalid');
  return value;
}

// A member that is null is one that was left out: typed clients send those.
export function configParam(value) {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw invalidParams('Invalid params: a configuration object was expected.');
  }
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null));
}

// An absent commitment is "finalized", as on a cluster.
export function commitmentParam(config, name = 'commitment') {
  const text = config[name] ?? 'finalized';
  const commitment = commitmentOf(text);
  if (!commitment) throw invalidParams(`Invalid params: unknown variant \`${text}\`, expected a commitment.`);
  return commitment;
}

// The slot that a call reads at, after a look at minContextSlot.
export function contextSlot(chain, config, commitment = commitmentParam(config)) {
  const slot = chain.slotAt(commitment);
  if (config.minContextSlot !== undefined && config.minContextSlot > slot) {
    throw new RpcError(MIN_CONTEXT_SLOT_NOT_REACHED, 'Minimum context slot has not been reached', { contextSlot: slot });
  }
  return slot;
}

export function integerParam(value, name, { min = 0, max = Number.MAX_SAFE_INTEGER, fallback } = {}) {
  const given = value ?? fallback;
  if (!Number.isSafeInteger(given) || given < min || given > max) {
    throw invalidParams(`Invalid params: ${name} must be a whole number from ${min} to ${max}.`);
  }
  return given;
}

export function u64Param(value, name) {
  const wide = typeof value === 'bigint' || Number.isSafeInteger(value) ? BigInt(value) : -1n;
  if (wide < 0n || wide >= 1n << 64n) throw invalidParams(`Invalid params: ${name} must be an unsigned 64-bit integer.`);
  return wide;
}

export function base64Param(value, name) {
  const bytes = typeof value === 'string' ? strictBase64(value) : null;
  if (!bytes) throw invalidParams(`Invalid params: ${name} must be base64.`);
  return bytes;
}

// Node's decoder skips what it does not know; a node's does not.
export function strictBase64(text) {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : null;
}
