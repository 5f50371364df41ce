// Drives an MCP server with the official TypeScript SDK client, so that the
// end-to-end tests do not rest on a client of our own alone.
//
//   node sdk-client.mjs [--era legacy|modern] [--call TOOL JSON] -- COMMAND [ARG...]
//
// With --call it lists the tools, calls the one, prints {tools, result} and
// ends. Without, it prints {tools}, then reads one {"tool", "arguments"} a line
// from its input and prints one {result} or {error} a line: both steps of a
// write in one session. The server gets this process's whole environment.
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { createInterface } from 'node:readline';

const MODERN = '2026-07-28';
const modes = { legacy: 'legacy', modern: { pin: MODERN } };

function usage(problem) {
  console.error(`${problem}\nusage: sdk-client.mjs [--era legacy|modern] [--call TOOL JSON] -- COMMAND [ARG...]`);
  process.exit(2);
}

function parseArguments(words) {
  const options = { era: 'legacy', call: null };
  while (words.length > 0) {
    const word = words.shift();
    if (word === '--') return { ...options, command: words };
    if (word === '--era' && words[0] in modes) options.era = words.shift();
    else if (word === '--call' && words.length >= 2) {
      options.call = { tool: words.shift(), arguments: JSON.parse(words.shift()) };
    } else usage(`cannot use ${word}`);
  }
  return usage('no command after --');
}

const print = (value) => process.stdout.write(`${JSON.stringify(value)}\n`);

async function allTools(client) {
  const tools = [];
  let cursor;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

async function call(client, { tool, arguments: args }) {
  return client.callTool({ name: tool, arguments: args });
}

async function converse(client) {
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      print({ result: await call(client, JSON.parse(line)) });
    } catch (error) {
      print({ error: { name: error.name, code: error.code, message: error.message } });
    }
  }
}

const options = parseArguments(process.argv.slice(2));
if (options.command.length === 0) usage('no command after --');
const [command, ...args] = options.command;
const client = new Client(
  { name: 'countersign-sdk-client', version: '1' },
  { versionNegotiation: { mode: modes[options.era] } },
);
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'inherit' }));
try {
  const tools = await allTools(client);
  if (options.call) {
    print({ tools, result: await call(client, options.call) });
  } else {
    print({ tools });
    await converse(client);
  }
} finally {
  await client.close();
}
