// The controls of tests, offered with --dev only. They act at every commitment at once: what a
// test sets up has always been so.

import { fromBase58 } from '../base58.mjs';
import { INTERNAL_ERROR, invalidParams, RpcError } from '../errors.mjs';
import { base64Param, configParam, integerParam, keyParam, u64Param } from '../params.mjs';
import { errorText } from '../txerror.mjs';

const ADVANCE_LIMIT = 10_000;

export const developmentMethods = {
  devchain_airdrop({ chain }, [address, lamports]) {
    const key = keyParam(address);
    const { signature, err } = chain.airdrop(key, u64Param(lamports, 'lamports'));
    if (err) throw new RpcError(INTERNAL_ERROR, `airdrop failed: ${errorText(err)}`);
    chain.settle(key);
    return signature;
  },

  devchain_advance({ chain }, [config]) {
    chain.advance(integerParam(configParam(config).slots, 'slots', { fallback: 1, max: ADVANCE_LIMIT }));
    return chain.slot;
  },

  devchain_expireBlockhash({ chain }) {
    chain.expireBlockhashes();
    return chain.slot;
  },

  devchain_setAccount({ chain }, [address, account]) {
    const { lamports, owner, data = '', executable = false } = configParam(account);
    const ownerKey = fromBase58(owner, 32);
    if (!ownerKey) throw invalidParams('Invalid params: owner must be an address.');
    chain.setAccount(keyParam(address), {
      lamports: u64Param(lamports, 'lamports'),
      owner: ownerKey,
      data: base64Param(data, 'data'),
      executable: executable === true,
    });
    return true;
  },

  devchain_addProgram({ chain }, [programId, elf]) {
    const bytes = base64Param(elf, 'the program');
    // The VM takes the process down with a file that is no program.
    if (bytes.length < 64 || bytes.readUInt32BE() !== 0x7f454c46) throw invalidParams('Invalid params: not an ELF file.');
    try {
      chain.vm.addProgram(keyParam(programId), bytes);
    } catch (cause) {
      throw invalidParams(`Invalid params: the VM refuses this program: ${cause.message}`);
    }
    return true;
  },

  devchain_fault({ faults }, [fault]) {
    faults.add(configParam(fault));
    return true;
  },

  devchain_clearFaults({ faults }) {
    faults.clear();
    return true;
  },

  devchain_requests({ faults }, [config]) {
    return faults.calls(configParam(config).method);
  },
};
