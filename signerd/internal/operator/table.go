package operator

import (
	"time"

	operatorv1 "countersign/proto/operator/v1"
	"countersign/signerd/internal/methods"
)

// Table governs operator.v1.
var Table = methods.Table{
	operatorv1.OperatorService_GetStatus_FullMethodName:       {PerMinute: 120, Timeout: 5 * time.Second},
	operatorv1.OperatorService_GetLimits_FullMethodName:       {PerMinute: 120, Timeout: 5 * time.Second},
	operatorv1.OperatorService_AddRecipient_FullMethodName:    {PerMinute: 120, Timeout: 5 * time.Second},
	operatorv1.OperatorService_ListRecipients_FullMethodName:  {PerMinute: 120, Timeout: 5 * time.Second},
	operatorv1.OperatorService_RemoveRecipient_FullMethodName: {PerMinute: 120, Timeout: 5 * time.Second},
}
