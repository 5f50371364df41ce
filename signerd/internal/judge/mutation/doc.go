// Package mutation is a test and nothing else: it takes honest swaps, claims
// and transfers, changes one thing in each, signs whatever the judge passes,
// and sends it to the real VM. What the wallet then lost is read from the
// chain by scripts/observer, which knows nothing of the judge. Nobody imports
// it.
package mutation
