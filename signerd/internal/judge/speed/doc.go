// Package speed holds no code, only tests: what it costs to judge a typical
// swap once everything that comes over the network is there, beside what one
// Ed25519 signature costs on the same machine. scripts/bench runs its
// benchmarks and prints the ratio. Nobody imports it.
package speed
