#!/usr/bin/env node
// Starts the local chain. Prints one line of JSON when it is ready; logs go to stderr.

import { parseArgs } from 'node:util';

import { fromBase58 } from './lib/base58.mjs';
import { startServer } from './lib/server.mjs';

const USAGE = `usage: node main.mjs [options]
  --port N             HTTP port on 127.0.0.1 (0, the default: any free one)
  --ws-port N          WebSocket port (0, the default: any free one)
  --dev                offer the devchain_ methods: airdrops, faults, slots, accounts, programs
  --slot-ms N          length of a slot (400)
  --confirmed-lag N    slots until a transaction is confirmed (1)
  --finalized-lag N    slots until it is finalized (32)
  --genesis HASH       genesis hash in base58 (a random one by default)
  --no-clock           slots pass only by devchain_advance
  --exit-with-stdin    end when standard input ends, so that no orphan outlives its parent
`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      'ws-port': { type: 'string', default: '0' },
      dev: { type: 'boolean', default: false },
      'slot-ms': { type: 'string', default: '400' },
      'confirmed-lag': { type: 'string', default: '1' },
      'finalized-lag': { type: 'string', default: '32' },
      genesis: { type: 'string' },
      'no-clock': { type: 'boolean', default: false },
      'exit-with-stdin': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const whole = (name, min, max) => {
    const number = Number(values[name]);
    if (!/^\d+$/.test(values[name]) || number < min || number > max) {
      throw new Error(`--${name} must be a whole number from ${min} to ${max}`);
    }
    return number;
  };
  if (values.genesis !== undefined && !fromBase58(values.genesis, 32)) {
    throw new Error('--genesis must be a hash of 32 bytes in base58');
  }
  const confirmedLag = whole('confirmed-lag', 0, 300);
  const finalizedLag = whole('finalized-lag', 0, 300);
  if (finalizedLag < confirmedLag) throw new Error('--finalized-lag must not be below --confirmed-lag');
  return {
    help: values.help,
    exitWithStdin: values['exit-with-stdin'],
    server: {
      port: whole('port', 0, 65535),
      wsPort: whole('ws-port', 0, 65535),
      dev: values.dev,
      slotMs: whole('slot-ms', 1, 3_600_000),
      confirmedLag,
      finalizedLag,
      genesisHash: values.genesis,
      clock: !values['no-clock'],
    },
  };
}

async function main() {
  let options;
  try {
    options = readOptions();
  } catch (error) {
    process.stderr.write(`devchain: ${error.message}\n${USAGE}`);
    process.exit(2);
  }
  if (options.help) {
    process.stdout.write(USAGE);
    return;
  }
  const log = (text) => process.stderr.write(`devchain: ${text}\n`);
  const server = await startServer({ ...options.server, log });

  let ending = false;
  const end = async () => {
    if (ending) return;
    ending = true;
    await server.close();
    process.exit(0);
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', end);
  if (options.exitWithStdin) process.stdin.on('end', end).on('error', end).resume();

  const { rpc, ws, genesisHash } = server;
  process.stdout.write(`${JSON.stringify({ rpc, ws, genesisHash })}\n`);
}

main().catch((error) => {
  process.stderr.write(`devchain: ${error.message}\n`);
  process.exit(1);
});
