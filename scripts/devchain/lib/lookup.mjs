// Address lookup tables: from the indexes in a v0 message to the accounts they mean.

import { LOOKUP_TABLE } from './programs.mjs';

const META_SIZE = 56;
const ACTIVE = 0xffffffffffffffffn;

// Returns the loaded keys in the runtime's order (writable of all tables, then read-only of
// all), or the transaction error that stops the load.
export function resolveLookups(lookups, accountOf, slot) {
  const writable = [];
  const readonly = [];
  for (const lookup of lookups) {
    const { addresses, err } = readTable(accountOf(lookup.table), slot);
    if (err) return { err };
    for (const index of [...lookup.writable, ...lookup.readonly]) {
      if (index >= addresses.length) return { err: 'InvalidAddressLookupTableIndex' };
    }
    writable.push(...lookup.writable.map((index) => addresses[index]));
    readonly.push(...lookup.readonly.map((index) => addresses[index]));
  }
  return { writable, readonly };
}

function readTable(account, slot) {
  if (!account) return { err: 'AddressLookupTableNotFound' };
  if (!account.owner.equals(LOOKUP_TABLE)) return { err: 'InvalidAddressLookupTableOwner' };
  const { data } = account;
  if (data.length < META_SIZE || data.readUInt32LE(0) !== 1) return { err: 'InvalidAddressLookupTableData' };
  const deactivated = data.readBigUInt64LE(4);
  if (deactivated !== ACTIVE && BigInt(slot) > deactivated + 512n) return { err: 'AddressLookupTableNotFound' };
  const addresses = [];
  for (let at = META_SIZE; at + 32 <= data.length; at += 32) addresses.push(data.subarray(at, at + 32));
  // What was added in this very slot cannot be used before the next one.
  const extendedNow = data.readBigUInt64LE(12) >= BigInt(slot);
  return { addresses: extendedNow ? addresses.slice(0, data[20]) : addresses };
}
