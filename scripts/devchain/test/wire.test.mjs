// The strict reader, and what gets past it: the VM must survive all of that.

import assert from 'node:assert/strict';
import { randomBytes, randomInt } from 'node:crypto';
import { test } from 'node:test';

import { VM } from '../lib/vm.mjs';
import { parseMessage, parseTransaction, WireError } from '../lib/wire.mjs';
import { b58, build, keypair, transfer, unitPrice } from '../testkit.mjs';

const [wallet, to, table] = [keypair(), keypair(), keypair()];
const blockhash = b58(randomBytes(32));
const instructions = [unitPrice(1), transfer(wallet.key, to.key, 1)];
const tables = [{ key: table.key, addresses: [to.key] }];
const formats = {
  legacy: build({ signers: [wallet], instructions, blockhash }),
  v0: build({ signers: [wallet], instructions, blockhash, version: 0, tables }),
  v1: build({ signers: [wallet], instructions, blockhash, version: 1, config: { priorityFee: 5n, units: 9 } }),
};

for (const [name, bytes] of Object.entries(formats)) {
  test(`${name} is read`, () => {
    const read = parseTransaction(bytes);
    assert.equal(read.version, { legacy: 'legacy', v0: 0, v1: 1 }[name]);
    assert.equal(b58(read.blockhash), blockhash);
    assert.equal(b58(read.keys[0]), wallet.address);
    assert.equal(read.signatures.length, 1);
    assert.equal(read.instructions.length, 2);
    assert.deepEqual(parseMessage(read.messageBytes).keys, read.keys);
  });

  test(`${name} cut anywhere, or with a byte more, is refused`, () => {
    for (let length = 0; length < bytes.length; length++) {
      assert.throws(() => parseTransaction(bytes.subarray(0, length)), WireError, `${length} bytes`);
    }
    assert.throws(() => parseTransaction(Buffer.concat([bytes, Buffer.alloc(1)])), WireError);
  });

  test(`${name} damaged at random: what is read, the VM survives`, () => {
    const vm = new VM();
    let read = 0;
    for (let i = 0; i < 4000; i++) {
      const damaged = Buffer.from(bytes);
      for (let n = randomInt(1, 4); n > 0; n--) damaged[randomInt(damaged.length)] = randomInt(256);
      try {
        parseTransaction(damaged);
      } catch (error) {
        assert.ok(error instanceof WireError, error);
        continue;
      }
      read++;
      vm.simulate(damaged);
      vm.execute(damaged);
    }
    assert.ok(read > 0);
  });
}

test('what a header may not say', () => {
  const change = (at, value) => {
    const bytes = Buffer.from(formats.legacy);
    bytes[at] = value;
    return () => parseTransaction(bytes);
  };
  assert.throws(change(0, 2), WireError);
  assert.throws(change(65, 2), /1 signatures, but the header asks for 2/);
  assert.throws(change(66, 1), /no writable signer/);
  assert.throws(change(67, 9), /more accounts than there are/);
});

test('a length has one spelling', () => {
  const { legacy } = formats;
  const spelled = Buffer.concat([Buffer.from([0x81, 0x00]), legacy.subarray(1)]);
  assert.throws(() => parseTransaction(spelled), WireError);
  const padded = Buffer.concat([legacy.subarray(0, 68), Buffer.from([legacy[68] | 0x80, 0]), legacy.subarray(69)]);
  assert.throws(() => parseTransaction(padded), /second spelling/);
});

test('v1: the mask', () => {
  const change = (bits) => {
    const bytes = Buffer.from(formats.v1);
    bytes.writeUInt32LE(bits, 4);
    return () => parseTransaction(bytes);
  };
  assert.throws(change(0b101001), /unknown bit/);
  assert.throws(change(0b1101), /half of a priority fee/);
});
