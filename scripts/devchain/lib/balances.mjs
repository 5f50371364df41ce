// Lamports and token amounts of a transaction's accounts, before and after. The VM reports
// neither, so they are read around the call.

import { toBase58 } from './base58.mjs';
import { readMint, readTokenAccount, uiAmount } from './tokens.mjs';

export const lamportsOf = (accounts) => accounts.map((account) => account?.lamports ?? 0n);

export function tokenBalancesOf(accounts, accountOf) {
  const balances = [];
  accounts.forEach((account, accountIndex) => {
    const token = readTokenAccount(account);
    const mint = token && readMint(accountOf(token.mint));
    if (!mint) return;
    balances.push({
      accountIndex,
      mint: toBase58(token.mint),
      owner: toBase58(token.owner),
      programId: toBase58(token.program),
      uiTokenAmount: uiAmount(token.amount, mint.decimals),
    });
  });
  return balances;
}
