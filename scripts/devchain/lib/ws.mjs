// The WebSocket side: subscriptions only, as on a node.

import { WebSocketServer } from 'ws';

import { invalidParams, METHOD_NOT_FOUND, PARSE_ERROR, RpcError } from './errors.mjs';
import { parseJSON, stringifyJSON } from './json.mjs';
import { failure } from './rpc.mjs';
import { Subscriptions } from './subscriptions.mjs';

const MESSAGE_LIMIT = 1024 * 1024;

export function createWebSocketServer(options, rpc) {
  const server = new WebSocketServer({ ...options, maxPayload: MESSAGE_LIMIT });
  server.on('connection', (socket) => serve(socket, rpc));
  return server;
}

function serve(socket, rpc) {
  const { chain, faults } = rpc.context;
  const tell = (message) => socket.send(stringifyJSON(message));
  const subscriptions = new Subscriptions(chain, (method, subscription, result) => {
    tell({ jsonrpc: '2.0', method, params: { result, subscription } });
  });
  socket.on('error', (error) => rpc.log(`ws: ${error.message}`));
  socket.on('close', () => subscriptions.close());
  socket.on('message', (text) => {
    const call = read(text);
    if (call) faults.countCall(call.method);
    // A subscription that is never acknowledged is the one fault that makes sense here.
    if (call && faults.transport(call.method)?.kind === 'hang') return;
    tell(answer(subscriptions, call, rpc));
  });
}

function read(text) {
  try {
    const call = parseJSON(text.toString());
    return call && typeof call === 'object' ? call : null;
  } catch {
    return null;
  }
}

function answer(subscriptions, call, rpc) {
  if (!call) return failure(null, new RpcError(PARSE_ERROR, 'Parse error'));
  const { id, method, params = [] } = call;
  try {
    if (!Object.hasOwn(subscriptions.methods, method)) throw new RpcError(METHOD_NOT_FOUND, 'Method not found');
    if (!Array.isArray(params)) throw invalidParams('Invalid params: a list was expected.');
    return { jsonrpc: '2.0', id: id ?? null, result: subscriptions.methods[method](params) };
  } catch (error) {
    if (!(error instanceof RpcError)) rpc.log(`${method}: ${error.stack}`);
    return failure(id, error);
  }
}
