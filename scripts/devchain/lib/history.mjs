// The transactions that landed, by signature and by address.

export class History {
  #bySignature = new Map();
  #byAddress = new Map();

  add(entry) {
    this.#bySignature.set(entry.transaction.signature, entry);
    for (const address of new Set(entry.addresses)) {
      const list = this.#byAddress.get(address);
      if (list) list.push(entry);
      else this.#byAddress.set(address, [entry]);
    }
  }

  get count() {
    return this.#bySignature.size;
  }

  get(signature) {
    return this.#bySignature.get(signature) ?? null;
  }

  // Newest first.
  of(address) {
    return [...(this.#byAddress.get(address) ?? [])].reverse();
  }

  since(slot) {
    return [...this.#bySignature.values()].filter((entry) => entry.slot >= slot);
  }
}
