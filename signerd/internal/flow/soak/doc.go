// Package soak runs random schedules of what can happen to a signer, against a
// chain that is a model: proposals, confirmations, crashes, clocks that are set,
// blockhashes that expire, transactions that are lost or land late, nodes that are
// down or lie, and everything said twice. After each step a count of its own, from
// the chain alone, is held against the ledger and the receipts. It holds tests
// only; nobody imports it.
package soak
