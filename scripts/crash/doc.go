// Package crash holds the tests that end the real signerd at each of its
// system calls in turn, or have that call fail, and then compare what the
// chain, the ledger, the receipts and the audit log say. It has no code of its
// own.
package crash
