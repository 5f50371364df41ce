package operator_test

import (
	"testing"

	operatorv1 "countersign/proto/operator/v1"
	"countersign/signerd/internal/operator"
)

// A method that stands in no table is refused at run time; here it is noticed.
func TestEveryMethodHasARule(t *testing.T) {
	service := operatorv1.OperatorService_ServiceDesc
	for _, method := range service.Methods {
		rule, ok := operator.Table["/"+service.ServiceName+"/"+method.MethodName]
		if !ok || rule.PerMinute <= 0 || rule.Timeout <= 0 {
			t.Errorf("%s has no rule, or one without limits", method.MethodName)
		}
	}
	if len(service.Methods) != len(operator.Table) || len(service.Streams) != 0 {
		t.Errorf("%d methods, %d rules", len(service.Methods), len(operator.Table))
	}
}
