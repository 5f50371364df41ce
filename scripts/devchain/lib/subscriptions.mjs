// WebSocket subscriptions: signatures, accounts, logs, slots.
//
// An acknowledgement always goes out before the first notification: clients look the
// subscription up by the number that the acknowledgement carries.

import { toBase58 } from './base58.mjs';
import { encodeAccount } from './encode.mjs';
import { invalidParams } from './errors.mjs';
import { commitmentParam, configParam, keyParam, signatureParam } from './params.mjs';

let lastNumber = 0;

// All subscriptions of one connection.
export class Subscriptions {
  #open = new Map();
  #stop;

  constructor(chain, notify) {
    this.chain = chain;
    this.notify = notify;
    const look = () => this.#look();
    const remember = (entry) => this.#remember(entry);
    const slot = () => this.#slot();
    chain.on('accounts', look).on('transaction', remember).on('slot', slot).on('slot', look);
    this.#stop = () => chain.off('accounts', look).off('transaction', remember).off('slot', slot).off('slot', look);
  }

  close() {
    this.#stop();
    this.#open.clear();
  }

  methods = {
    signatureSubscribe: ([signature, config]) => {
      const commitment = commitmentParam(configParam(config));
      return this.#add('signature', { signature: signatureParam(signature), commitment });
    },
    accountSubscribe: ([address, given]) => {
      const config = configParam(given);
      const subscription = { key: keyParam(address), config, commitment: commitmentParam(config) };
      return this.#add('account', { ...subscription, told: this.#accountText(subscription) });
    },
    logsSubscribe: ([filter, config]) => {
      return this.#add('logs', { mentions: mentionsOf(filter), commitment: commitmentParam(configParam(config)), due: [] });
    },
    slotSubscribe: () => this.#add('slot', {}),
    signatureUnsubscribe: ([number]) => this.#remove('signature', number),
    accountUnsubscribe: ([number]) => this.#remove('account', number),
    logsUnsubscribe: ([number]) => this.#remove('logs', number),
    slotUnsubscribe: ([number]) => this.#remove('slot', number),
  };

  #add(kind, subscription) {
    const number = ++lastNumber;
    this.#open.set(number, { kind, number, ...subscription });
    // After the acknowledgement: what is true already is told at once.
    setImmediate(() => this.#look());
    return number;
  }

  #remove(kind, number) {
    if (this.#open.get(number)?.kind !== kind) throw invalidParams('Invalid subscription id.');
    return this.#open.delete(number);
  }

  #of(kind) {
    return [...this.#open.values()].filter((subscription) => subscription.kind === kind);
  }

  #look() {
    this.#of('signature').forEach((subscription) => this.#lookAtSignature(subscription));
    this.#of('account').forEach((subscription) => this.#lookAtAccount(subscription));
    this.#of('logs').forEach((subscription) => this.#tellLogs(subscription));
  }

  // A signature is told once, and the subscription is over.
  #lookAtSignature({ number, signature, commitment }) {
    const slot = this.chain.slotAt(commitment);
    const entry = this.chain.history.get(signature);
    if (!entry || entry.slot > slot) return;
    this.#open.delete(number);
    this.notify('signatureNotification', number, { context: { slot: entry.slot }, value: { err: entry.err } });
  }

  #lookAtAccount(subscription) {
    const text = this.#accountText(subscription);
    if (text === subscription.told) return;
    subscription.told = text;
    const { number, key, config, commitment } = subscription;
    const accountOf = (other) => this.chain.account(other, commitment);
    const value = encodeAccount(accountOf(key) ?? CLOSED, config, accountOf);
    this.notify('accountNotification', number, { context: { slot: this.chain.slotAt(commitment) }, value });
  }

  #accountText({ key, commitment }) {
    const account = this.chain.account(key, commitment);
    return account ? [account.lamports, toBase58(account.owner), account.data.toString('base64')].join() : '';
  }

  #remember(entry) {
    for (const { mentions, due } of this.#of('logs')) {
      if (mentions === null || entry.addresses.includes(mentions)) due.push(entry);
    }
  }

  #tellLogs(subscription) {
    const slot = this.chain.slotAt(subscription.commitment);
    while (subscription.due.length > 0 && subscription.due[0].slot <= slot) {
      const entry = subscription.due.shift();
      const value = { err: entry.err, logs: entry.meta.logs, signature: entry.transaction.signature };
      this.notify('logsNotification', subscription.number, { context: { slot: entry.slot }, value });
    }
  }

  #slot() {
    const { slot } = this.chain;
    for (const { number } of this.#of('slot')) {
      this.notify('slotNotification', number, { parent: slot - 1, root: this.chain.slotAt('finalized'), slot });
    }
  }
}

// What a subscriber is told of an account that is gone.
const CLOSED = { lamports: 0n, owner: Buffer.alloc(32), data: Buffer.alloc(0), executable: false, rentEpoch: 0n };

function mentionsOf(filter) {
  if (filter === 'all' || filter === 'allWithVotes') return null;
  const [address, ...more] = filter?.mentions ?? [];
  if (more.length > 0) throw invalidParams('Invalid Request: Only 1 address supported');
  return toBase58(keyParam(address));
}
