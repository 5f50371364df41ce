package server

import (
	"time"

	signerv1 "countersign/proto/signer/v1"
	"countersign/signerd/internal/methods"
)

// Table governs signer.v1. A proposal costs RPC calls and a durable write, so
// it is the scarcest.
var Table = methods.Table{
	signerv1.SignerService_Describe_FullMethodName:          {PerMinute: 120, Timeout: 5 * time.Second},
	signerv1.SignerService_Propose_FullMethodName:           {PerMinute: 60, Timeout: 45 * time.Second},
	signerv1.SignerService_CheckConfirmation_FullMethodName: {PerMinute: 120, Timeout: 5 * time.Second},
	signerv1.SignerService_Execute_FullMethodName:           {PerMinute: 60, Timeout: 5 * time.Minute},
	signerv1.SignerService_CancelProposal_FullMethodName:    {PerMinute: 120, Timeout: 5 * time.Second},
	signerv1.SignerService_GetReceipt_FullMethodName:        {PerMinute: 240, Timeout: 5 * time.Second},
	signerv1.SignerService_ListActivity_FullMethodName:      {PerMinute: 120, Timeout: 5 * time.Second},
	signerv1.SignerService_GetLimits_FullMethodName:         {PerMinute: 240, Timeout: 5 * time.Second},
	signerv1.SignerService_ResolveRecipient_FullMethodName:  {PerMinute: 120, Timeout: 5 * time.Second},
}
