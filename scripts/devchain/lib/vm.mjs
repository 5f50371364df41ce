// The VM behind a narrow door: checked bytes in, plain values out.
//
// Its own signature check, blockhash check and history are off. They differ from a cluster's
// (one valid blockhash, the same chain of blockhashes in every VM, a history of 32), so
// chain.mjs does all three.

import { randomBytes } from 'node:crypto';

import { toBase58 } from './base58.mjs';
import { loadNative } from './native.mjs';
import { errorJSON } from './txerror.mjs';

export const RENT_EXEMPT_EPOCH = 18446744073709551615n;
export const SLOTS_PER_EPOCH = 432_000n;

export class VM {
  #native = loadNative();
  #svm = new this.#native.LiteSvm();

  constructor() {
    this.#svm.setSigverify(false);
    this.#svm.setBlockhashCheck(false);
    this.#svm.setTransactionHistory(0n);
    this.#svm.withNativeMints();
  }

  get startSlot() {
    return Number(this.#svm.getClock().slot);
  }

  setClock(slot, unixTime, slotHashes) {
    const epoch = BigInt(slot) / SLOTS_PER_EPOCH;
    this.#svm.setClock(new this.#native.Clock(BigInt(slot), BigInt(unixTime), epoch, epoch + 1n, BigInt(unixTime)));
    this.#svm.setSlotHashes(slotHashes);
    // Durable nonces advance only if the VM's own last blockhash has moved.
    this.#svm.expireBlockhash();
  }

  account(key) {
    return plainAccount(this.#svm.getAccount(key));
  }

  setAccount(key, { lamports, owner, data, executable }) {
    this.#svm.setAccount(key, new this.#native.Account(lamports, data, owner, executable, RENT_EXEMPT_EPOCH));
  }

  addProgram(programId, elf) {
    this.#svm.addProgram(programId, elf);
  }

  programAccounts(programId) {
    return this.#svm
      .getProgramAccounts(programId)
      .map((found) => ({ key: Buffer.from(found.address), account: plainAccount(found.account()) }))
      .filter(({ account }) => account !== null);
  }

  rentMinimum(size) {
    return this.#svm.minimumBalanceForRentExemption(BigInt(size));
  }

  execute(bytes) {
    return this.#outcome(this.#svm.sendVersionedTransaction(bytes));
  }

  // Changes nothing. `post` holds the writable accounts, and is null if the transaction failed.
  simulate(bytes) {
    const result = this.#svm.simulateVersionedTransaction(bytes);
    const outcome = this.#outcome(result);
    if (outcome.err) return { ...outcome, post: null };
    const post = new Map();
    for (const found of result.postAccounts()) {
      post.set(toBase58(found.address), plainAccount(found.account()));
    }
    return { ...outcome, post };
  }

  #outcome(result) {
    const failed = result instanceof this.#native.FailedTransactionMetadata;
    const meta = failed || 'meta' in result ? result.meta() : result;
    return {
      err: failed ? errorJSON(result.err()) : null,
      logs: meta.logs(),
      units: Number(meta.computeUnitsConsumed()),
      inner: meta.innerInstructions().map((list) =>
        list.map((call) => {
          const instruction = call.instruction();
          return {
            program: instruction.programIdIndex(),
            accounts: [...instruction.accounts()],
            data: Buffer.from(instruction.data()),
            stackHeight: call.stackHeight(),
          };
        }),
      ),
      returnData: plainReturnData(meta.returnData()),
    };
  }
}

// An account without lamports does not exist.
function plainAccount(native) {
  if (!native || native.lamports() === 0n) return null;
  return {
    lamports: native.lamports(),
    owner: Buffer.from(native.owner()),
    data: Buffer.from(native.data()),
    executable: native.executable(),
    rentEpoch: native.rentEpoch(),
  };
}

function plainReturnData(native) {
  const data = Buffer.from(native.data());
  if (data.length === 0) return null;
  return { programId: toBase58(native.programId()), data };
}

export const randomHash = () => toBase58(randomBytes(32));
