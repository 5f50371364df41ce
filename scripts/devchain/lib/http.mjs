// The HTTP side: POST a request, GET /health. Transport faults are committed here.

import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import { HttpFailure } from './httpfailure.mjs';
import { stringifyJSON } from './json.mjs';

// Large enough for a program in base64; a node takes far less.
const BODY_LIMIT = 16 * 1024 * 1024;
const DELAY_MS = 1000;

// Longer than a client keeps an idle connection: one that is closed while it is
// used again looks like a node that broke down.
const KEEP_ALIVE_MS = 120_000;

export function createHttpServer(rpc) {
  return createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, async (request, response) => {
    try {
      await answer(rpc, request, response);
    } catch (error) {
      if (!(error instanceof HttpFailure)) rpc.log(`http: ${error.stack}`);
      if (response.destroyed) return;
      const status = error instanceof HttpFailure ? error.status : 500;
      response.writeHead(status, { 'content-type': 'text/plain', ...error.headers }).end(`${error.message}\n`);
    }
  });
}

async function answer(rpc, request, response) {
  if (request.method === 'GET' && request.url === '/health') return response.end('ok');
  if (request.method !== 'POST') throw new HttpFailure(405, { allow: 'POST' });
  const { calls, batch, answer: refused } = rpc.read(await readBody(request));
  if (refused) return send(response, refused);
  for (const call of calls) {
    const fault = rpc.context.faults.transport(call?.method);
    if (fault && (await commit(fault, response)) === 'over') {
      rpc.context.faults.countCall(call.method);
      return undefined;
    }
  }
  const answers = calls.map((call) => rpc.call(call ?? {}));
  return send(response, batch ? answers : answers[0]);
}

// Commits a transport fault. "over" means that the request has had its answer, or never will.
async function commit(fault, response) {
  switch (fault.kind) {
    case 'delay':
      await sleep(fault.ms ?? DELAY_MS);
      return 'goes on';
    case 'hang':
      return 'over';
    case 'garbage':
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","result":');
      return 'over';
    case 'http_429':
      response.writeHead(429, { 'retry-after': String(fault.retryAfterS ?? 1) }).end('Too many requests\n');
      return 'over';
    default:
      response.writeHead(500, { 'content-type': 'text/plain' }).end('Internal Server Error\n');
      return 'over';
  }
}

async function readBody(request) {
  const chunks = [];
  let size = 0;
  for await (const chunk of request) {
    size += chunk.length;
    if (size > BODY_LIMIT) throw new HttpFailure(413);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function send(response, body) {
  response.writeHead(200, { 'content-type': 'application/json' }).end(stringifyJSON(body));
}
