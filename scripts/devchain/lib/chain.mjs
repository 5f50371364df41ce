// The chain: slots, recent blockhashes, execution, history, and three commitments.
//
// There is one VM and it holds the newest (processed) state. A transaction runs when it
// arrives, in the current slot; it is confirmed and finalized when enough slots have passed.
// What accounts were at an older slot is kept in the journal.

import { createHash } from 'node:crypto';
import { EventEmitter } from 'node:events';

import { toBase58 } from './base58.mjs';
import { lamportsOf, tokenBalancesOf } from './balances.mjs';
import { Blockhashes, EXECUTION_AGE, SIMULATION_AGE } from './blockhashes.mjs';
import { Faucet } from './faucet.mjs';
import { feeOf } from './fees.mjs';
import { History } from './history.mjs';
import { Journal } from './journal.mjs';
import { resolveLookups } from './lookup.mjs';
import { usesValidNonce } from './nonce.mjs';
import { signaturesVerify } from './signatures.mjs';
import { randomHash, VM } from './vm.mjs';
import { isWritable, parseTransaction } from './wire.mjs';

// A mainnet skips slots, so that block heights stay behind. Kept apart here too: code that
// takes one for the other must not pass.
const SKIPPED_SLOTS = 21_000_000;

export class Chain extends EventEmitter {
  vm = new VM();
  journal = new Journal();
  history = new History();
  faucet = new Faucet(this.vm);
  #processed = new Set();
  #waiting = [];

  constructor({ confirmedLag = 1, finalizedLag = 32, genesisHash = randomHash() } = {}) {
    super();
    this.setMaxListeners(0);
    this.genesisHash = genesisHash;
    this.lags = { processed: 0, confirmed: confirmedLag, finalized: finalizedLag };
    this.slot = this.vm.startSlot;
    this.blockhashes = new Blockhashes(this.slot);
    this.#setClock();
  }

  // Lets slots pass, one after the other.
  advance(slots = 1) {
    for (let left = slots; left > 0; left--) {
      this.slot++;
      this.blockhashes.add(this.slot);
      const due = this.#waiting.filter((entry) => entry.slot <= this.slot);
      this.#waiting = this.#waiting.filter((entry) => entry.slot > this.slot);
      // The VM needs to know the time only where something runs.
      if (left === 1 || due.length > 0) this.#setClock();
      for (const { transaction } of due) this.submit(transaction);
      this.emit('slot', this.slot);
    }
    this.journal.prune(this.slotAt('finalized') - 1);
  }

  #setClock() {
    this.vm.setClock(this.slot, Math.floor(Date.now() / 1000), this.blockhashes.slotHashes());
  }

  slotAt(commitment) {
    return this.slot - this.lags[commitment];
  }

  blockHeight(slot) {
    return slot - SKIPPED_SLOTS;
  }

  lastValidBlockHeight(blockhashSlot) {
    return this.blockHeight(blockhashSlot) + EXECUTION_AGE;
  }

  account(key, commitment = 'processed') {
    if (commitment === 'processed') return this.vm.account(key);
    const before = this.journal.before(toBase58(key), this.slotAt(commitment));
    return before === undefined ? this.vm.account(key) : before;
  }

  // Puts an account in place as if it had always been there: at every commitment at once.
  setAccount(key, account) {
    this.vm.setAccount(key, account);
    this.settle(key);
  }

  // Makes the newest state of an account its state at every commitment.
  settle(key) {
    this.journal.forget(toBase58(key));
    this.emit('accounts', this.slot);
  }

  // Lets so many slots pass that no bank, not even the finalized one, takes a blockhash of today.
  expireBlockhashes() {
    this.advance(EXECUTION_AGE + 1 + this.lags.finalized);
  }

  // Puts a transaction aside until `slots` have passed.
  submitLater(transaction, slots) {
    this.#waiting.push({ slot: this.slot + slots, transaction });
  }

  // Executes a transaction as a leader would. Returns the error, or null. Whether it is on the
  // chain afterwards is another question: it is, if and only if it paid its fee.
  submit(transaction) {
    const refusal = this.refusal(transaction, { bankSlot: this.slot, age: EXECUTION_AGE });
    if (refusal) return refusal;
    if (!signaturesVerify(transaction)) return 'SignatureFailure';
    const loaded = this.#load(transaction);
    if (loaded.err) return loaded.err;

    const before = this.#read(loaded.addresses);
    const outcome = this.vm.execute(transaction.bytes);
    const after = this.#read(loaded.addresses);
    const landed = (before[0]?.lamports ?? 0n) !== (after[0]?.lamports ?? 0n) || outcome.err === null;
    if (!landed) return outcome.err;

    this.#processed.add(messageId(transaction));
    loaded.addresses.forEach((key, index) => {
      if (loaded.writable[index]) this.journal.note(toBase58(key), this.slot, before[index]);
    });
    const entry = {
      transaction,
      slot: this.slot,
      blockTime: Math.floor(Date.now() / 1000),
      err: outcome.err,
      meta: this.#meta(transaction, loaded, outcome, before, after),
      addresses: loaded.addresses.map(toBase58),
      writable: loaded.writable,
    };
    this.history.add(entry);
    this.emit('transaction', entry);
    this.emit('accounts', this.slot);
    return outcome.err;
  }

  // Runs a transaction without changing anything.
  simulate(transaction, { commitment = 'finalized', checkBlockhash = true } = {}) {
    if (checkBlockhash) {
      const refusal = this.refusal(transaction, { bankSlot: this.slotAt(commitment), age: SIMULATION_AGE });
      if (refusal) return notRun(refusal);
    }
    const loaded = this.#load(transaction);
    if (loaded.err) return notRun(loaded.err);
    const before = this.#read(loaded.addresses);
    const outcome = this.vm.simulate(transaction.bytes);
    const after = this.#simulatedAfter(transaction, loaded, outcome, before);
    return {
      ...outcome,
      addresses: loaded.addresses.map(toBase58),
      before,
      after,
      meta: this.#meta(transaction, loaded, outcome, before, after, outcome.post),
    };
  }

  // Why a bank at `bankSlot` would not even look at the transaction.
  refusal(transaction, { bankSlot, age }) {
    const hash = toBase58(transaction.blockhash);
    if (this.blockhashes.validSlot(hash, bankSlot, age) === null && !usesValidNonce(transaction, (key) => this.vm.account(key))) {
      return 'BlockhashNotFound';
    }
    return this.#processed.has(messageId(transaction)) ? 'AlreadyProcessed' : null;
  }

  airdrop(key, lamports) {
    const transaction = parseTransaction(this.faucet.transfer(key, lamports, this.blockhashes.at(this.slot)));
    return { signature: transaction.signature, err: this.submit(transaction) };
  }

  #load(transaction) {
    const accountOf = (key) => this.vm.account(key);
    const { writable, readonly, err } = resolveLookups(transaction.lookups, accountOf, this.slot);
    if (err) return { err };
    return {
      addresses: [...transaction.keys, ...writable, ...readonly],
      writable: [
        ...transaction.keys.map((_, index) => isWritable(transaction, index)),
        ...writable.map(() => true),
        ...readonly.map(() => false),
      ],
      loadedAddresses: { writable: writable.map(toBase58), readonly: readonly.map(toBase58) },
    };
  }

  #read(addresses) {
    return addresses.map((key) => this.vm.account(key));
  }

  // A failed simulation still says what the fee would have cost.
  #simulatedAfter(transaction, loaded, { err, post }, before) {
    if (err === null) {
      return loaded.addresses.map((key, index) => {
        const address = toBase58(key);
        return post.has(address) ? post.get(address) : before[index];
      });
    }
    const [payer, ...others] = before;
    if (!payer || payer.lamports < feeOf(transaction)) return before;
    return [{ ...payer, lamports: payer.lamports - feeOf(transaction) }, ...others];
  }

  #meta(transaction, loaded, outcome, before, after, post = null) {
    const accountBefore = (key) => this.vm.account(key);
    const accountAfter = (key) => post?.get(toBase58(key)) ?? this.vm.account(key);
    return {
      fee: feeOf(transaction),
      preBalances: lamportsOf(before),
      postBalances: lamportsOf(after),
      preTokenBalances: tokenBalancesOf(before, accountBefore),
      postTokenBalances: tokenBalancesOf(after, accountAfter),
      loadedAddresses: loaded.loadedAddresses,
      logs: outcome.logs,
      units: outcome.units,
      inner: outcome.inner,
      returnData: outcome.returnData,
      // What the accounts hold, and the 64 bytes of overhead each of them counts for.
      loadedDataSize: before.reduce((sum, account) => sum + (account ? account.data.length + 64 : 0), 0),
    };
  }
}

function notRun(err) {
  return {
    err,
    addresses: [],
    before: [],
    after: [],
    meta: { logs: [], units: 0, inner: [], returnData: null, loadedDataSize: 0 },
  };
}

function messageId(transaction) {
  return createHash('sha256').update(transaction.messageBytes).digest('base64');
}

export function commitmentOf(text) {
  return fromCommitment.get(text) ?? null;
}

// The old names are what some clients still send.
const fromCommitment = new Map([
  ['processed', 'processed'],
  ['recent', 'processed'],
  ['confirmed', 'confirmed'],
  ['single', 'confirmed'],
  ['singleGossip', 'confirmed'],
  ['finalized', 'finalized'],
  ['max', 'finalized'],
  ['root', 'finalized'],
]);

