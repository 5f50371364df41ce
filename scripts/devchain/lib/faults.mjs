// The faults a test has ordered, and the count of calls per method.
//
// A fault spoils the next `count` calls of its method; without a count, every call until it is
// cleared. `"*"` stands for every method, and is what a missing method means.

import { keyParam } from './params.mjs';
import { invalidParams } from './errors.mjs';

const ANY = '*';

// Those that need no knowledge of the method: the server commits them before it is called.
const TRANSPORT = new Set(['delay', 'hang', 'http_429', 'http_500', 'garbage']);

// Which methods each of the others can spoil.
const SPOILS = new Map([
  ['drop', ['sendTransaction']],
  ['land_then_error', ['sendTransaction']],
  ['delay_land', ['sendTransaction']],
  ['lie_simulation', ['simulateTransaction']],
  ['lie_balance', ['getBalance', 'getAccountInfo', 'getMultipleAccounts', 'simulateTransaction']],
  ['hide_status', ['getSignatureStatuses', 'getTransaction']],
  ['wrong_genesis', ['getGenesisHash']],
]);

export class Faults {
  #faults = [];
  #calls = new Map();

  add(fault) {
    const { kind, method = ANY, count = 0, skip = 0 } = fault;
    const spoils = SPOILS.get(kind);
    if (!spoils && !TRANSPORT.has(kind)) {
      throw invalidParams(`Invalid params: no fault kind ${kind}; there are ${[...TRANSPORT, ...SPOILS.keys()].join(', ')}.`);
    }
    if (spoils && method !== ANY && !spoils.includes(method)) {
      throw invalidParams(`Invalid params: ${kind} spoils ${spoils.join(', ')}, not ${method}.`);
    }
    if (!Number.isSafeInteger(count) || count < 0) throw invalidParams('Invalid params: count must be a whole number.');
    if (!Number.isSafeInteger(skip) || skip < 0) throw invalidParams('Invalid params: skip must be a whole number.');
    if (kind === 'lie_balance') keyParam(fault.pubkey);
    this.#faults.push({ ...fault, method, skip, left: count === 0 ? Infinity : count });
  }

  clear() {
    this.#faults = [];
  }

  transport(method) {
    return this.#take((fault) => TRANSPORT.has(fault.kind) && matches(fault, method));
  }

  take(kind, method) {
    return this.#take((fault) => fault.kind === kind && matches(fault, method));
  }

  // All of a kind at once: lies about several accounts hold together.
  takeAll(kind, method) {
    return this.#faults.filter((fault) => fault.kind === kind && matches(fault, method)).filter((fault) => this.#use(fault));
  }

  #take(wanted) {
    const fault = this.#faults.find(wanted);
    return fault && this.#use(fault) ? fault : null;
  }

  // The first `skip` calls pass.
  #use(fault) {
    if (fault.skip > 0) {
      fault.skip--;
      return false;
    }
    fault.left--;
    if (fault.left === 0) this.#faults = this.#faults.filter((other) => other !== fault);
    return true;
  }

  countCall(method) {
    this.#calls.set(method, (this.#calls.get(method) ?? 0) + 1);
  }

  calls(method) {
    return method === undefined ? Object.fromEntries(this.#calls) : (this.#calls.get(method) ?? 0);
  }
}

function matches(fault, method) {
  return fault.method === ANY || fault.method === method;
}
