// The faucet: gives lamports in real, signed transactions, each unlike every other, so that a
// client that polls for the confirmation of its airdrop finds one.

import { generateKeyPairSync, sign } from 'node:crypto';

import { fromBase58 } from './base58.mjs';
import { COMPUTE_BUDGET, SYSTEM } from './programs.mjs';

const FUNDS = 500_000_000n * 1_000_000_000n;
const FIRST_LIMIT = 200_000;
const LIMITS = 1_000_000;

export class Faucet {
  #count = 0;
  #privateKey;

  constructor(vm) {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    this.#privateKey = privateKey;
    this.address = publicKey.export({ format: 'der', type: 'spki' }).subarray(-32);
    vm.setAccount(this.address, { lamports: FUNDS, owner: SYSTEM, data: Buffer.alloc(0), executable: false });
  }

  transfer(to, lamports, blockhash) {
    const data = Buffer.alloc(12);
    data.writeUInt32LE(2);
    data.writeBigUInt64LE(lamports, 4);
    // The compute limit is what makes two equal airdrops in one slot differ.
    const limit = Buffer.alloc(5, 2);
    limit.writeUInt32LE(FIRST_LIMIT + (this.#count++ % LIMITS), 1);
    const message = Buffer.concat([
      Buffer.from([1, 0, 2, 4]),
      this.address,
      to,
      SYSTEM,
      COMPUTE_BUDGET,
      fromBase58(blockhash, 32),
      Buffer.from([2, 3, 0, limit.length]),
      limit,
      Buffer.from([2, 2, 0, 1, data.length]),
      data,
    ]);
    return Buffer.concat([Buffer.from([1]), sign(null, message, this.#privateKey), message]);
  }
}
