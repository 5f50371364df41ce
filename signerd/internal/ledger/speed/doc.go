// Package speed measures the ledger, for scripts/bench: how long a check of the
// limits takes in a short and in a long ledger, and what waiting callers gain from
// sharing a commit. It holds benchmarks only; nobody imports it.
package speed
