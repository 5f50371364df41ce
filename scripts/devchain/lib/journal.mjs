// What accounts were before they changed, slot by slot: so that a reader at "finalized" sees
// the state of the finalized slot and not the newest one.

export class Journal {
  #changes = new Map();

  // Notes that the account was `before` until a change in `slot`.
  note(address, slot, before) {
    const changes = this.#changes.get(address) ?? [];
    if (changes.at(-1)?.slot === slot) return;
    changes.push({ slot, before });
    this.#changes.set(address, changes);
  }

  // What the account was at the end of `slot`, or undefined if it has not changed since.
  before(address, slot) {
    return this.#changes.get(address)?.find((change) => change.slot > slot)?.before;
  }

  forget(address) {
    this.#changes.delete(address);
  }

  // Drops what no reader can ask for any more.
  prune(oldestReadable) {
    for (const [address, changes] of this.#changes) {
      const kept = changes.filter((change) => change.slot > oldestReadable);
      if (kept.length === 0) this.#changes.delete(address);
      else if (kept.length < changes.length) this.#changes.set(address, kept);
    }
  }
}
