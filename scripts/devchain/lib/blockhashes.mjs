// The queue of recent blockhashes: random, one per slot, with the ages a cluster uses.
// A fresh random chain per start keeps a transaction signed for one chain invalid on another.

import { randomHash } from './vm.mjs';

// A transaction may be executed up to this many slots after its blockhash,
export const EXECUTION_AGE = 150;
// and is simulated (so: passes preflight) only while it still has some way to go.
export const SIMULATION_AGE = 144;

const DEPTH = 301;

export class Blockhashes {
  #bySlot = new Map();
  #slotOf = new Map();

  // Enough of a past that the finalized blockhash exists at start.
  constructor(slot) {
    for (let past = slot - DEPTH + 1; past <= slot; past++) this.add(past);
  }

  add(slot) {
    const hash = randomHash();
    this.#bySlot.set(slot, hash);
    this.#slotOf.set(hash, slot);
    const oldest = slot - DEPTH;
    this.#slotOf.delete(this.#bySlot.get(oldest));
    this.#bySlot.delete(oldest);
  }

  at(slot) {
    return this.#bySlot.get(slot);
  }

  // The slot of a blockhash, if a bank at `bankSlot` knows it and it is at most `age` slots old.
  validSlot(hash, bankSlot, age) {
    const slot = this.#slotOf.get(hash);
    return slot !== undefined && slot <= bankSlot && bankSlot - slot <= age ? slot : null;
  }

  // For the SlotHashes sysvar, newest first.
  slotHashes() {
    return [...this.#bySlot].reverse().map(([slot, hash]) => ({ slot: BigInt(slot), hash }));
  }
}
