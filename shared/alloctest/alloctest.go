// Package alloctest measures what a parser allocates for hostile input, so that
// a test can hold it to the input's size: a few bytes that announce millions
// must not be believed. Only tests import it.
package alloctest

import (
	"fmt"
	"runtime"
)

// attempts is how often a measurement over the limit is repeated: what runs
// beside it in the process is counted too.
const attempts = 3

// Excess runs f, which must do the same each time, and says in words by how
// much it allocated more than perByte for each byte of its input and fixed
// beside that. It is empty where f kept to it.
func Excess(size int, perByte, fixed uint64, f func()) string {
	limit := uint64(max(size, 0))*perByte + fixed
	least := ^uint64(0)
	for range attempts {
		if least = min(least, allocated(f)); least <= limit {
			return ""
		}
	}
	return fmt.Sprintf("%d bytes allocated for an input of %d, at most %d expected", least, size, limit)
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
