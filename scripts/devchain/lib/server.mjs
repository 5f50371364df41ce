// The chain with both of its servers, on loopback.

import { once } from 'node:events';

import { Chain } from './chain.mjs';
import { Faults } from './faults.mjs';
import { createHttpServer } from './http.mjs';
import { Rpc } from './rpc.mjs';
import { createWebSocketServer } from './ws.mjs';

const HOST = '127.0.0.1';

const DEFAULTS = { port: 0, wsPort: 0, dev: false, clock: true, slotMs: 400, log: () => {} };

// Takes what DEFAULTS names, and the options of Chain.
export async function startServer(given = {}) {
  const { port, wsPort, dev, clock, slotMs, log, ...options } = { ...DEFAULTS, ...given };
  const chain = new Chain(options);
  const rpc = new Rpc({ chain, faults: new Faults(), dev, log });
  const http = createHttpServer(rpc);
  http.listen(port, HOST);
  const ws = createWebSocketServer({ host: HOST, port: wsPort }, rpc);
  await Promise.all([once(http, 'listening'), once(ws, 'listening')]);
  const ticker = clock ? setInterval(() => chain.advance(), slotMs) : null;

  return {
    chain,
    rpc: `http://${HOST}:${http.address().port}`,
    ws: `ws://${HOST}:${ws.address().port}`,
    genesisHash: chain.genesisHash,
    async close() {
      clearInterval(ticker);
      for (const socket of ws.clients) socket.terminate();
      http.closeAllConnections();
      await Promise.all([http, ws].map((server) => new Promise((done) => server.close(done))));
    },
  };
}
