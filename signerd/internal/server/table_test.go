package server_test

import (
	"testing"

	signerv1 "countersign/proto/signer/v1"
	"countersign/signerd/internal/server"
)

// A method that stands in no table is refused at run time; here it is noticed.
func TestEveryMethodHasARule(t *testing.T) {
	service := signerv1.SignerService_ServiceDesc
	names := make([]string, 0, len(server.Table))
	for _, method := range service.Methods {
		names = append(names, method.MethodName)
	}
	for _, stream := range service.Streams {
		names = append(names, stream.StreamName)
	}
	for _, name := range names {
		rule, ok := server.Table["/"+service.ServiceName+"/"+name]
		if !ok || rule.PerMinute <= 0 || rule.Timeout <= 0 {
			t.Errorf("%s has no rule, or one without limits", name)
		}
	}
	if len(names) != len(server.Table) {
		t.Errorf("%d methods, %d rules", len(names), len(server.Table))
	}
}
