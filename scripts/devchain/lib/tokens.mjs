// Token accounts and mints of SPL Token and Token-2022, read from their bytes.

import { toBase58 } from './base58.mjs';
import { isTokenProgram } from './programs.mjs';

const MINT_SIZE = 82;
const ACCOUNT_SIZE = 165;
const MULTISIG_SIZE = 355;
const STATES = ['uninitialized', 'initialized', 'frozen'];
const KIND_MINT = 1;
const KIND_ACCOUNT = 2;

// Token-2022 puts a byte behind the base part that tells a mint from an account.
function kindOf({ owner, data }) {
  if (!isTokenProgram(owner) || data.length === MULTISIG_SIZE) return null;
  if (data.length === MINT_SIZE) return KIND_MINT;
  if (data.length === ACCOUNT_SIZE) return KIND_ACCOUNT;
  return data.length > ACCOUNT_SIZE ? data[ACCOUNT_SIZE] : null;
}

export function readTokenAccount(account) {
  if (!account || kindOf(account) !== KIND_ACCOUNT) return null;
  const { data } = account;
  const state = STATES[data[108]];
  if (!state || state === 'uninitialized') return null;
  return {
    mint: data.subarray(0, 32),
    owner: data.subarray(32, 64),
    amount: data.readBigUInt64LE(64),
    delegate: optionalKey(data, 72),
    state,
    nativeReserve: data.readUInt32LE(109) ? data.readBigUInt64LE(113) : null,
    delegatedAmount: data.readBigUInt64LE(121),
    closeAuthority: optionalKey(data, 129),
    extensions: extensionsOf(data),
    program: account.owner,
  };
}

export function readMint(account) {
  if (!account || kindOf(account) !== KIND_MINT || account.data[45] !== 1) return null;
  const { data } = account;
  return {
    mintAuthority: optionalKey(data, 0),
    supply: data.readBigUInt64LE(36),
    decimals: data[44],
    freezeAuthority: optionalKey(data, 46),
    extensions: extensionsOf(data),
    program: account.owner,
  };
}

function optionalKey(data, at) {
  return data.readUInt32LE(at) ? toBase58(data.subarray(at + 4, at + 36)) : null;
}

const EXTENSION_NAMES = new Map([
  [1, 'transferFeeConfig'],
  [2, 'transferFeeAmount'],
  [3, 'mintCloseAuthority'],
  [4, 'confidentialTransferMint'],
  [5, 'confidentialTransferAccount'],
  [6, 'defaultAccountState'],
  [7, 'immutableOwner'],
  [8, 'memoTransfer'],
  [9, 'nonTransferable'],
  [10, 'interestBearingConfig'],
  [11, 'cpiGuard'],
  [12, 'permanentDelegate'],
  [13, 'nonTransferableAccount'],
  [14, 'transferHook'],
  [15, 'transferHookAccount'],
  [18, 'metadataPointer'],
  [19, 'tokenMetadata'],
  [20, 'groupPointer'],
  [22, 'groupMemberPointer'],
  [25, 'scaledUiAmountConfig'],
  [26, 'pausableConfig'],
  [27, 'pausableAccount'],
]);

// Names the extensions; the only state spelled out is what changes what a holder owns.
function extensionsOf(data) {
  const extensions = [];
  let at = ACCOUNT_SIZE + 1;
  while (at + 4 <= data.length) {
    const type = data.readUInt16LE(at);
    const length = data.readUInt16LE(at + 2);
    if (type === 0 || at + 4 + length > data.length) break;
    const value = data.subarray(at + 4, at + 4 + length);
    extensions.push(extension(EXTENSION_NAMES.get(type) ?? 'unparseableExtension', value));
    at += 4 + length;
  }
  return extensions;
}

function extension(name, value) {
  switch (name) {
    case 'transferFeeAmount':
      return { extension: name, state: { withheldAmount: value.readBigUInt64LE() } };
    case 'permanentDelegate':
      return { extension: name, state: { delegate: toBase58(value.subarray(0, 32)) } };
    case 'mintCloseAuthority':
      return { extension: name, state: { closeAuthority: toBase58(value.subarray(0, 32)) } };
    default:
      return { extension: name };
  }
}

export function uiAmount(amount, decimals) {
  const digits = amount.toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, digits.length - decimals);
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '');
  const uiAmountString = fraction ? `${whole}.${fraction}` : whole;
  return { amount: amount.toString(), decimals, uiAmount: Number(uiAmountString), uiAmountString };
}
