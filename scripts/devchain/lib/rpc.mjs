// From the text of a request to the text of its answer.

import { INTERNAL_ERROR, INVALID_REQUEST, invalidParams, METHOD_NOT_FOUND, PARSE_ERROR, RpcError } from './errors.mjs';
import { HttpFailure } from './httpfailure.mjs';
import { parseJSON } from './json.mjs';
import { accountMethods } from './methods/accounts.mjs';
import { clusterMethods } from './methods/cluster.mjs';
import { developmentMethods } from './methods/development.mjs';
import { transactionMethods } from './methods/transactions.mjs';

const DEVELOPMENT = 'devchain_';

export class Rpc {
  #methods;

  constructor({ chain, faults, dev, log }) {
    this.context = { chain, faults };
    this.log = log;
    const offered = { ...clusterMethods, ...accountMethods, ...transactionMethods, ...(dev ? developmentMethods : {}) };
    this.#methods = new Map(Object.entries(offered));
  }

  // The calls of a request body: one or, in a batch, several.
  read(text) {
    let body;
    try {
      body = parseJSON(text);
    } catch {
      return { answer: failure(null, new RpcError(PARSE_ERROR, 'Parse error')) };
    }
    if (Array.isArray(body) && body.length > 0) return { calls: body, batch: true };
    if (body === null || typeof body !== 'object' || Array.isArray(body)) {
      return { answer: failure(null, new RpcError(INVALID_REQUEST, 'Invalid request')) };
    }
    return { calls: [body], batch: false };
  }

  // Calls a method and returns the whole answer. Only an HttpFailure is thrown.
  call({ jsonrpc, id, method, params = [] }) {
    try {
      if (jsonrpc !== '2.0' || typeof method !== 'string') throw new RpcError(INVALID_REQUEST, 'Invalid request');
      if (!method.startsWith(DEVELOPMENT)) this.context.faults.countCall(method);
      const handler = this.#methods.get(method);
      if (!handler) throw new RpcError(METHOD_NOT_FOUND, 'Method not found');
      if (!Array.isArray(params)) throw invalidParams('Invalid params: a list was expected.');
      return { jsonrpc: '2.0', id: id ?? null, result: handler(this.context, params) ?? null };
    } catch (error) {
      if (error instanceof HttpFailure) throw error;
      if (!(error instanceof RpcError)) this.log(`${method}: ${error.stack}`);
      return failure(id, error);
    }
  }
}

export function failure(id, error) {
  const known = error instanceof RpcError ? error : new RpcError(INTERNAL_ERROR, 'Internal error');
  return { jsonrpc: '2.0', id: id ?? null, error: known.toJSON() };
}
