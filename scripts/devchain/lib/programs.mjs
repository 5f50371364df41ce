// The addresses this chain knows by name.

import { fromBase58 } from './base58.mjs';

const key = (text) => fromBase58(text, 32);

export const SYSTEM = key('11111111111111111111111111111111');
export const TOKEN = key('TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA');
export const TOKEN_2022 = key('TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb');
export const COMPUTE_BUDGET = key('ComputeBudget111111111111111111111111111111');
export const LOOKUP_TABLE = key('AddressLookupTab1e1111111111111111111111111');

const ED25519 = key('Ed25519SigVerify111111111111111111111111111');
const SECP256K1 = key('KeccakSecp256k11111111111111111111111111111');
const SECP256R1 = key('Secp256r1SigVerify1111111111111111111111111');

// They verify signatures, and each of those is charged for.
const PRECOMPILES = [ED25519, SECP256K1, SECP256R1];

// What the default compute limit counts as 3,000 units instead of 200,000.
const BUILTINS = [
  SYSTEM,
  COMPUTE_BUDGET,
  ED25519,
  SECP256K1,
  key('BPFLoader1111111111111111111111111111111111'),
  key('BPFLoader2111111111111111111111111111111111'),
  key('BPFLoaderUpgradeab1e11111111111111111111111'),
  key('LoaderV411111111111111111111111111111111111'),
];

const within = (list, program) => list.some((known) => known.equals(program));

export const isTokenProgram = (program) => TOKEN.equals(program) || TOKEN_2022.equals(program);
export const isPrecompile = (program) => within(PRECOMPILES, program);
export const isBuiltin = (program) => within(BUILTINS, program);
