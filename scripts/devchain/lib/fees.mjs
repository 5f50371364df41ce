// What a transaction pays, computed from its bytes as the runtime does. The VM charges by its
// own rules; the tests compare the two to the lamport.

import { COMPUTE_BUDGET, isBuiltin, isPrecompile } from './programs.mjs';

const LAMPORTS_PER_SIGNATURE = 5000n;
const MAX_UNITS = 1_400_000n;
const MICRO = 1_000_000n;

export function feeOf(message) {
  return LAMPORTS_PER_SIGNATURE * signaturesCharged(message) + priorityFee(message);
}

// The compute-unit price in micro-lamports, for getRecentPrioritizationFees.
export function unitPrice(message) {
  return budgetOf(message).price;
}

function signaturesCharged(message) {
  let count = BigInt(message.header.signatures);
  for (const { program, data } of message.instructions) {
    if (isPrecompile(message.keys[program]) && data.length > 0) count += BigInt(data[0]);
  }
  return count;
}

function priorityFee(message) {
  if (message.config) return message.config.priorityFee;
  const { price, limit } = budgetOf(message);
  return (price * limit + MICRO - 1n) / MICRO;
}

function budgetOf(message) {
  let price = 0n;
  let limit = null;
  let defaults = 0n;
  for (const { program, data } of message.instructions) {
    const id = message.keys[program];
    if (!id.equals(COMPUTE_BUDGET)) {
      defaults += isBuiltin(id) ? 3_000n : 200_000n;
      continue;
    }
    defaults += 3_000n;
    if (data[0] === 2 && data.length >= 5) limit = BigInt(data.readUInt32LE(1));
    if (data[0] === 3 && data.length >= 9) price = data.readBigUInt64LE(1);
  }
  limit ??= defaults;
  return { price, limit: limit < MAX_UNITS ? limit : MAX_UNITS };
}
