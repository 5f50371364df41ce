// Methods about the chain itself: health, slots, blockhashes, fees.

import { toBase58 } from '../base58.mjs';
import { EXECUTION_AGE } from '../blockhashes.mjs';
import { invalidParams } from '../errors.mjs';
import { feeOf, unitPrice } from '../fees.mjs';
import { configParam, contextSlot, integerParam, keyParam, strictBase64 } from '../params.mjs';
import { randomHash, SLOTS_PER_EPOCH } from '../vm.mjs';
import { parseMessage, WireError } from '../wire.mjs';

// What the VM's crates say they are.
const VERSION = { 'solana-core': '4.3.0', 'feature-set': 0 };
const FEE_WINDOW = 150;

export const clusterMethods = {
  getHealth: () => 'ok',
  getVersion: () => VERSION,
  getGenesisHash: ({ chain, faults }) => (faults.take('wrong_genesis', 'getGenesisHash') ? randomHash() : chain.genesisHash),
  getSlot: ({ chain }, [config]) => contextSlot(chain, configParam(config)),
  getBlockHeight: ({ chain }, [config]) => chain.blockHeight(contextSlot(chain, configParam(config))),
  getTransactionCount: ({ chain }) => chain.history.count,

  getEpochInfo({ chain }, [config]) {
    const slot = contextSlot(chain, configParam(config));
    const slotsInEpoch = Number(SLOTS_PER_EPOCH);
    return {
      absoluteSlot: slot,
      blockHeight: chain.blockHeight(slot),
      epoch: Math.floor(slot / slotsInEpoch),
      slotIndex: slot % slotsInEpoch,
      slotsInEpoch,
      transactionCount: chain.history.count,
    };
  },

  getLatestBlockhash({ chain }, [config]) {
    const slot = contextSlot(chain, configParam(config));
    const value = { blockhash: chain.blockhashes.at(slot), lastValidBlockHeight: chain.lastValidBlockHeight(slot) };
    return { context: { slot }, value };
  },

  isBlockhashValid({ chain }, [blockhash, config]) {
    const hash = toBase58(keyParam(blockhash));
    const slot = contextSlot(chain, configParam(config));
    return { context: { slot }, value: chain.blockhashes.validSlot(hash, slot, EXECUTION_AGE) !== null };
  },

  getFeeForMessage({ chain }, [text, config]) {
    const slot = contextSlot(chain, configParam(config));
    const message = readMessage(text);
    const known = chain.blockhashes.validSlot(toBase58(message.blockhash), slot, EXECUTION_AGE) !== null;
    return { context: { slot }, value: known ? feeOf(message) : null };
  },

  getMinimumBalanceForRentExemption({ chain }, [size]) {
    return chain.vm.rentMinimum(integerParam(size, 'the data length', { max: 10 * 1024 * 1024 }));
  },

  // Per slot the lowest price with which somebody got in, among those who locked these accounts.
  getRecentPrioritizationFees({ chain }, [given]) {
    const addresses = given ?? [];
    if (!Array.isArray(addresses)) throw invalidParams('Invalid params: a list of addresses was expected.');
    if (addresses.length > 128) throw invalidParams('Too many inputs provided; max 128');
    const wanted = addresses.map((address) => toBase58(keyParam(address)));
    const first = chain.slot - FEE_WINDOW + 1;
    const lowest = new Map();
    for (const entry of chain.history.since(first)) {
      const locked = new Set(entry.addresses.filter((_, index) => entry.writable[index]));
      if (!wanted.every((address) => locked.has(address))) continue;
      const price = unitPrice(entry.transaction);
      if (!lowest.has(entry.slot) || price < lowest.get(entry.slot)) lowest.set(entry.slot, price);
    }
    return Array.from({ length: FEE_WINDOW }, (_, index) => {
      const slot = first + index;
      return { prioritizationFee: lowest.get(slot) ?? 0, slot };
    });
  },
};

function readMessage(text) {
  const bytes = typeof text === 'string' ? strictBase64(text) : null;
  if (!bytes) throw invalidParams('invalid base64 encoding');
  try {
    return parseMessage(bytes);
  } catch (cause) {
    if (!(cause instanceof WireError)) throw cause;
    throw invalidParams(`failed to deserialize solana_message::versions::VersionedMessage: ${cause.message}`);
  }
}
