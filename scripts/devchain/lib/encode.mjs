// Accounts as JSON-RPC shows them.

import { toBase58 } from './base58.mjs';
import { invalidParams } from './errors.mjs';
import { TOKEN } from './programs.mjs';
import { readMint, readTokenAccount, uiAmount } from './tokens.mjs';

const BASE58_LIMIT = 128;

export function encodeAccount(account, config, accountOf) {
  if (!account) return null;
  return {
    data: encodeData(account, config, accountOf),
    executable: account.executable,
    lamports: account.lamports,
    owner: toBase58(account.owner),
    rentEpoch: account.rentEpoch,
    space: account.data.length,
  };
}

function encodeData(account, config, accountOf) {
  const encoding = config.encoding ?? 'binary';
  const data = slice(account.data, config.dataSlice);
  switch (encoding) {
    case 'binary':
    case 'base58':
      if (data.length > BASE58_LIMIT) {
        throw invalidParams(`base58 is for up to ${BASE58_LIMIT} bytes of data; ask for encoding base64.`);
      }
      // Without any encoding the text stands alone, as it did in the first versions.
      return encoding === 'binary' ? toBase58(data) : [toBase58(data), 'base58'];
    case 'base64':
      return [data.toString('base64'), 'base64'];
    case 'jsonParsed':
      return parsedData(account, accountOf) ?? [data.toString('base64'), 'base64'];
    default:
      throw invalidParams(`Invalid params: encoding ${encoding} is not offered here; use base64, base58 or jsonParsed.`);
  }
}

function slice(data, range) {
  if (!range) return data;
  const { offset, length } = range;
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(length) || offset < 0 || length < 0) {
    throw invalidParams('Invalid params: dataSlice takes offset and length.');
  }
  return data.subarray(offset, offset + length);
}

// Only what the project reads parsed: token accounts and mints.
function parsedData(account, accountOf) {
  const program = account.owner.equals(TOKEN) ? 'spl-token' : 'spl-token-2022';
  const space = account.data.length;
  const token = readTokenAccount(account);
  if (token) {
    const mint = readMint(accountOf(token.mint));
    if (!mint) return null;
    return { program, parsed: { info: tokenInfo(token, mint.decimals), type: 'account' }, space };
  }
  const mint = readMint(account);
  return mint && { program, parsed: { info: mintInfo(mint), type: 'mint' }, space };
}

function tokenInfo(token, decimals) {
  const native = token.nativeReserve !== null;
  return {
    closeAuthority: token.closeAuthority ?? undefined,
    delegate: token.delegate ?? undefined,
    delegatedAmount: token.delegate ? uiAmount(token.delegatedAmount, decimals) : undefined,
    extensions: token.extensions.length ? token.extensions : undefined,
    isNative: native,
    mint: toBase58(token.mint),
    owner: toBase58(token.owner),
    rentExemptReserve: native ? uiAmount(token.nativeReserve, decimals) : undefined,
    state: token.state,
    tokenAmount: uiAmount(token.amount, decimals),
  };
}

function mintInfo(mint) {
  return {
    decimals: mint.decimals,
    extensions: mint.extensions.length ? mint.extensions : undefined,
    freezeAuthority: mint.freezeAuthority,
    isInitialized: true,
    mintAuthority: mint.mintAuthority,
    supply: mint.supply.toString(),
  };
}
