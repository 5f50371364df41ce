// Package txerror is shared/txerror under the name by which signerd's stages
// know it: chain (simulation), judge and submit (what landed) import it, and
// nothing is added here.
package txerror

import "countersign/shared/txerror"

// Error is why a transaction failed.
type Error = txerror.Error

// What is asked about the `err` that a node answers with.
var (
	Describe            = txerror.Describe
	IsNone              = txerror.IsNone
	IsAlreadyProcessed  = txerror.IsAlreadyProcessed
	IsBlockhashNotFound = txerror.IsBlockhashNotFound
)
