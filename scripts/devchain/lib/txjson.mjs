// Transactions and simulations as JSON-RPC shows them.

import { toBase58 } from './base58.mjs';
import { encodeAccount } from './encode.mjs';
import { invalidParams, RpcError, UNSUPPORTED_TRANSACTION_VERSION } from './errors.mjs';
import { parsedCall } from './parsedcall.mjs';

// An entry of the history, as getTransaction answers it.
export function transactionJSON(entry, { encoding = 'json', maxSupportedTransactionVersion: highest } = {}) {
  const { transaction } = entry;
  if (transaction.version !== 'legacy' && !(highest >= transaction.version)) {
    throw new RpcError(
      UNSUPPORTED_TRANSACTION_VERSION,
      `Transaction version (${transaction.version}) is not supported by the requesting client. ` +
        `Ask again with "maxSupportedTransactionVersion": ${transaction.version}.`,
    );
  }
  return {
    blockTime: entry.blockTime,
    meta: metaJSON(entry),
    slot: entry.slot,
    transaction: encodeTransaction(transaction, encoding),
    // A client that names no version predates versions, and is not told one.
    version: highest === undefined ? undefined : transaction.version,
  };
}

function encodeTransaction(transaction, encoding) {
  switch (encoding) {
    case 'base64':
      return [transaction.bytes.toString('base64'), 'base64'];
    case 'base58':
      return [toBase58(transaction.bytes), 'base58'];
    case 'json':
      return { message: messageJSON(transaction), signatures: transaction.signatures.map(toBase58) };
    default:
      throw invalidParams(`Invalid params: encoding ${encoding} is not offered here; use json, base64 or base58.`);
  }
}

function messageJSON({ version, header, keys, blockhash, instructions, lookups }) {
  return {
    accountKeys: keys.map(toBase58),
    addressTableLookups:
      version === 0
        ? lookups.map((lookup) => ({
            accountKey: toBase58(lookup.table),
            readonlyIndexes: lookup.readonly,
            writableIndexes: lookup.writable,
          }))
        : undefined,
    header: {
      numReadonlySignedAccounts: header.readonlySigned,
      numReadonlyUnsignedAccounts: header.readonlyUnsigned,
      numRequiredSignatures: header.signatures,
    },
    instructions: instructions.map((instruction) => callByIndex({ ...instruction, stackHeight: 1 })),
    recentBlockhash: toBase58(blockhash),
  };
}

function callByIndex({ program, accounts, data, stackHeight }) {
  return { accounts, data: toBase58(data), programIdIndex: program, stackHeight };
}

function metaJSON({ err, meta }) {
  return {
    computeUnitsConsumed: meta.units,
    err,
    fee: meta.fee,
    innerInstructions: nonEmpty(meta.inner, callByIndex),
    loadedAddresses: meta.loadedAddresses,
    logMessages: meta.logs,
    postBalances: meta.postBalances,
    postTokenBalances: meta.postTokenBalances,
    preBalances: meta.preBalances,
    preTokenBalances: meta.preTokenBalances,
    returnData: returnDataJSON(meta.returnData) ?? undefined,
    rewards: [],
    status: err === null ? { Ok: null } : { Err: err },
  };
}

function nonEmpty(inner, show) {
  return inner
    .map((calls, index) => ({ index, instructions: calls.map(show) }))
    .filter(({ instructions }) => instructions.length > 0);
}

function returnDataJSON(returnData) {
  if (!returnData) return null;
  return { data: [returnData.data.toString('base64'), 'base64'], programId: returnData.programId };
}

// A simulation, as simulateTransaction answers it and as a failed preflight carries it.
export function simulationJSON(result, { innerInstructions = false, accounts = null, replacementBlockhash } = {}) {
  const { err, meta, addresses } = result;
  return {
    accounts,
    err,
    fee: meta.fee ?? null,
    innerInstructions: innerInstructions ? nonEmpty(meta.inner, (call) => parsedCall(call, addresses)) : null,
    loadedAccountsDataSize: meta.loadedDataSize,
    loadedAddresses: meta.loadedAddresses ?? null,
    logs: meta.logs,
    postBalances: meta.postBalances ?? null,
    postTokenBalances: meta.postTokenBalances ?? null,
    preBalances: meta.preBalances ?? null,
    preTokenBalances: meta.preTokenBalances ?? null,
    replacementBlockhash,
    returnData: returnDataJSON(meta.returnData),
    unitsConsumed: meta.units,
  };
}

// The accounts a caller asked to see after a simulation: what the transaction made of them, or
// nulls where it failed.
export function simulatedAccounts(chain, result, keys, encoding) {
  if (result.err !== null) return keys.map(() => null);
  const after = new Map(result.addresses.map((address, index) => [address, result.after[index]]));
  const accountOf = (key) => {
    const address = toBase58(key);
    return after.has(address) ? after.get(address) : chain.account(key);
  };
  return keys.map((key) => encodeAccount(accountOf(key), { encoding }, accountOf));
}
