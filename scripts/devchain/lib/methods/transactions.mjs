// Methods that send, simulate and look up transactions.

import { toBase58 } from '../base58.mjs';
import { encodeAccount } from '../encode.mjs';
import {
  INTERNAL_ERROR,
  invalidParams,
  PREFLIGHT_FAILURE,
  RpcError,
  SIGNATURE_VERIFICATION_FAILURE,
} from '../errors.mjs';
import { commitmentParam, configParam, contextSlot, integerParam, keyParam, signatureParam, u64Param } from '../params.mjs';
import { receiveTransaction } from '../receive.mjs';
import { signaturesVerify } from '../signatures.mjs';
import { simulatedAccounts, simulationJSON, transactionJSON } from '../txjson.mjs';
import { errorText } from '../txerror.mjs';
import { HttpFailure } from '../httpfailure.mjs';

const STATUS_LIMIT = 256;
const PAGE_LIMIT = 1000;
// How far back a node knows statuses without searching its history.
const RECENT_SLOTS = 150;

export const transactionMethods = {
  sendTransaction({ chain, faults }, [text, given]) {
    const config = configParam(given);
    const transaction = receiveTransaction(text, config.encoding);
    if (config.maxRetries !== undefined) integerParam(config.maxRetries, 'maxRetries');
    if (!config.skipPreflight) preflight(chain, transaction, config);

    if (faults.take('drop', 'sendTransaction')) return transaction.signature;
    const later = faults.take('delay_land', 'sendTransaction');
    if (later) {
      chain.submitLater(transaction, integerParam(later.slots, 'slots', { fallback: 1 }));
      return transaction.signature;
    }
    // What becomes of it is for getSignatureStatuses to say: a node only takes it in.
    chain.submit(transaction);
    const error = faults.take('land_then_error', 'sendTransaction');
    if (error?.status) throw new HttpFailure(error.status);
    if (error) throw new RpcError(INTERNAL_ERROR, 'Internal error');
    return transaction.signature;
  },

  simulateTransaction({ chain, faults }, [text, given]) {
    const config = configParam(given);
    const commitment = commitmentParam(config);
    const slot = contextSlot(chain, config, commitment);
    const transaction = receiveTransaction(text, config.encoding);
    if (config.sigVerify && config.replaceRecentBlockhash) {
      throw invalidParams('sigVerify may not be used with replaceRecentBlockhash');
    }
    if (config.sigVerify && !signaturesVerify(transaction)) throw badSignature();

    const result = chain.simulate(transaction, { commitment, checkBlockhash: !config.replaceRecentBlockhash });
    const wanted = accountsWanted(config.accounts, transaction, result);
    const lie = faults.take('lie_simulation', 'simulateTransaction');
    const honest = simulationJSON(result, {
      innerInstructions: config.innerInstructions === true,
      accounts: wanted && simulatedAccounts(chain, result, wanted.keys, wanted.encoding),
      replacementBlockhash: config.replaceRecentBlockhash ? replacement(chain, slot) : undefined,
    });
    const value = lie ? invented(chain, honest, lie, wanted) : honest;
    lieAboutBalances(value, result.addresses, faults.takeAll('lie_balance', 'simulateTransaction'));
    return { context: { apiVersion: '4.3.0', slot }, value };
  },

  getSignatureStatuses({ chain, faults }, [signatures, given]) {
    const config = configParam(given);
    if (!Array.isArray(signatures)) throw invalidParams('Invalid params: a list of signatures was expected.');
    if (signatures.length > STATUS_LIMIT) throw invalidParams(`Too many inputs provided; max ${STATUS_LIMIT}`);
    const hidden = faults.take('hide_status', 'getSignatureStatuses');
    const oldest = config.searchTransactionHistory ? -1 : chain.slot - RECENT_SLOTS;
    const value = signatures.map((signature) => {
      const entry = chain.history.get(signatureParam(signature));
      return hidden || !entry || entry.slot < oldest ? null : statusJSON(chain, entry);
    });
    return { context: { apiVersion: '4.3.0', slot: chain.slot }, value };
  },

  getTransaction({ chain, faults }, [signature, given]) {
    // The second parameter was once the encoding alone.
    const config = typeof given === 'string' ? { encoding: given } : configParam(given);
    const slot = historySlot(chain, config);
    const entry = chain.history.get(signatureParam(signature));
    if (faults.take('hide_status', 'getTransaction') || !entry || entry.slot > slot) return null;
    return transactionJSON(entry, config);
  },

  getSignaturesForAddress({ chain }, [address, given]) {
    const config = configParam(given);
    const slot = historySlot(chain, config);
    const limit = integerParam(config.limit, 'limit', { min: 1, max: PAGE_LIMIT, fallback: PAGE_LIMIT });
    let page = chain.history.of(toBase58(keyParam(address))).filter((entry) => entry.slot <= slot);
    if (config.before) page = page.slice(indexOf(page, signatureParam(config.before)) + 1);
    if (config.until) {
      const end = indexOf(page, signatureParam(config.until));
      if (end >= 0) page = page.slice(0, end);
    }
    return page.slice(0, limit).map((entry) => ({
      blockTime: entry.blockTime,
      confirmationStatus: confirmation(chain, entry),
      err: entry.err,
      memo: null,
      signature: entry.transaction.signature,
      slot: entry.slot,
    }));
  },

  requestAirdrop({ chain }, [address, lamports]) {
    const { signature, err } = chain.airdrop(keyParam(address), u64Param(lamports, 'lamports'));
    if (err) throw new RpcError(INTERNAL_ERROR, `airdrop failed: ${errorText(err)}`);
    return signature;
  },
};

function preflight(chain, transaction, config) {
  const commitment = commitmentParam(config, 'preflightCommitment');
  contextSlot(chain, config, commitment);
  if (!signaturesVerify(transaction)) throw badSignature();
  const result = chain.simulate(transaction, { commitment });
  if (result.err === null) return;
  const text = `Transaction simulation failed: ${errorText(result.err)}`;
  throw new RpcError(PREFLIGHT_FAILURE, text, simulationJSON(result));
}

function badSignature() {
  return new RpcError(SIGNATURE_VERIFICATION_FAILURE, 'Transaction signature verification failure');
}

function replacement(chain, slot) {
  return { blockhash: chain.blockhashes.at(slot), lastValidBlockHeight: chain.lastValidBlockHeight(slot) };
}

function accountsWanted(accounts, transaction, result) {
  if (!accounts) return null;
  const { addresses, encoding = 'base64' } = accounts;
  if (!Array.isArray(addresses)) throw invalidParams('Invalid params: accounts.addresses must be a list.');
  if (encoding === 'base58' || encoding === 'binary') throw invalidParams('base58 encoding not supported');
  const limit = result.addresses.length || transaction.keys.length;
  if (addresses.length > limit) throw invalidParams(`Too many accounts provided; max ${limit}`);
  return { keys: addresses.map(keyParam), encoding };
}

// A success that never was: every account as it is now, unless the fault says otherwise.
function invented(chain, honest, lie, wanted) {
  const accountOf = (key) => chain.account(key);
  return {
    ...honest,
    err: null,
    innerInstructions: honest.innerInstructions && [],
    logs: lie.logs ?? [],
    unitsConsumed: lie.unitsConsumed ?? 1000,
    postBalances: honest.preBalances,
    postTokenBalances: honest.preTokenBalances,
    accounts:
      wanted &&
      wanted.keys.map((key) => {
        const told = lie.accounts?.[toBase58(key)];
        const real = encodeAccount(accountOf(key), { encoding: wanted.encoding }, accountOf);
        return told === undefined ? real : told && { ...real, ...told };
      }),
  };
}

function lieAboutBalances(value, addresses, lies) {
  for (const { pubkey, lamports } of lies) {
    const index = addresses.indexOf(pubkey);
    if (index >= 0) value.preBalances[index] = BigInt(lamports ?? 0);
  }
}

function statusJSON(chain, entry) {
  const status = confirmation(chain, entry);
  return {
    confirmationStatus: status,
    confirmations: status === 'finalized' ? null : chain.slot - entry.slot,
    err: entry.err,
    slot: entry.slot,
    status: entry.err === null ? { Ok: null } : { Err: entry.err },
  };
}

function confirmation(chain, { slot }) {
  if (slot <= chain.slotAt('finalized')) return 'finalized';
  return slot <= chain.slotAt('confirmed') ? 'confirmed' : 'processed';
}

// History is not served below "confirmed".
function historySlot(chain, config) {
  const commitment = commitmentParam(config);
  if (commitment === 'processed') throw invalidParams('Method does not support commitment below `confirmed`');
  return contextSlot(chain, config, commitment);
}

const indexOf = (page, signature) => page.findIndex((entry) => entry.transaction.signature === signature);
