package fault_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"countersign/shared/fault"
)

var classes = []fault.Class{
	fault.Validation, fault.Authentication, fault.AuthorizationRejected,
	fault.Conflict, fault.Operational, fault.UnknownOutcome,
}

// declared reads the constants of type Code from the source, since Go cannot
// list them.
func declared(t *testing.T) []fault.Code {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "fault.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var codes []fault.Code
	ast.Inspect(file, func(node ast.Node) bool {
		spec, ok := node.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Code" {
			return true
		}
		text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
		if err != nil {
			t.Fatal(err)
		}
		codes = append(codes, fault.Code(text))
		return true
	})
	if len(codes) == 0 {
		t.Fatal("no code found in the source")
	}
	return codes
}

func TestTableIsTotal(t *testing.T) {
	codes := declared(t)
	slices.Sort(codes)
	listed := fault.Codes()
	slices.Sort(listed)
	if !slices.Equal(codes, listed) {
		t.Errorf("declared %v\nlisted %v", codes, listed)
	}
	if unique := slices.Compact(slices.Clone(codes)); len(unique) != len(codes) {
		t.Error("two constants share a code")
	}
}

func TestAdviceIsFitToRead(t *testing.T) {
	name := regexp.MustCompile(`^[a-z]+(_[a-z]+)*$`)
	for _, code := range fault.Codes() {
		advice := code.Advice()
		if !name.MatchString(string(code)) {
			t.Errorf("%s: codes are lower case words joined by underscores", code)
		}
		if !slices.Contains(classes, advice.Class) {
			t.Errorf("%s: class %q is none of the six", code, advice.Class)
		}
		first, _ := utf8.DecodeRuneInString(advice.Hint)
		if !unicode.IsUpper(first) || !strings.HasSuffix(advice.Hint, ".") {
			t.Errorf("%s: hint %q is no sentence", code, advice.Hint)
		}
		if !code.Known() {
			t.Errorf("%s: not known", code)
		}
	}
}

// The model is told to stop where somebody said no, and is sent to the receipt,
// never to a repeat, where something happened or may have.
func TestAdviceFollowsItsClass(t *testing.T) {
	for _, code := range fault.Codes() {
		advice := code.Advice()
		if advice.Class == fault.AuthorizationRejected && !strings.HasPrefix(advice.Hint, "Stop") {
			t.Errorf("%s: hint %q does not tell the model to stop", code, advice.Hint)
		}
		if advice.Class == fault.UnknownOutcome && advice.SafeToRetry {
			t.Errorf("%s: an unknown outcome is not safe to repeat", code)
		}
		if !advice.SafeToRetry && code != fault.Internal && !strings.Contains(advice.Hint, "get_receipt") {
			t.Errorf("%s: not safe to repeat, and the hint %q names no other way", code, advice.Hint)
		}
	}
}

func TestUnlistedCodeIsInternal(t *testing.T) {
	const unlisted = fault.Code("no_such_code")
	if unlisted.Known() {
		t.Error("an unlisted code is known")
	}
	if got := unlisted.Advice(); got != fault.Internal.Advice() {
		t.Errorf("advice = %+v, want that of internal", got)
	}
}

func TestFaultKeepsItsCauseToItself(t *testing.T) {
	f := fault.New(fault.RPCUnavailable, "the RPC node %s", "is away").Because(errors.New("dial https://node/?api-key=secret")).After(3 * time.Second)
	for _, shown := range []string{f.Error(), fmt.Sprint(f), fmt.Sprintf("%+v", f), fmt.Sprintf("%v", error(f)), f.Message} {
		if strings.Contains(shown, "secret") {
			t.Errorf("the cause is shown: %s", shown)
		}
	}
	if got := f.Error(); got != "rpc_unavailable: the RPC node is away" {
		t.Errorf("Error() = %q", got)
	}
	if f.RetryAfter != 3*time.Second || f.Class() != fault.Operational {
		t.Errorf("fault = %+v of class %s", f, f.Class())
	}
}

func TestCauseIsFoundByCode(t *testing.T) {
	f := fault.New(fault.Internal, "x").Because(io.ErrUnexpectedEOF)
	if !errors.Is(f, io.ErrUnexpectedEOF) {
		t.Error("the cause is lost")
	}
}

func TestFrom(t *testing.T) {
	f := fault.New(fault.CapExceeded, "over")
	for name, c := range map[string]struct {
		err  error
		want fault.Code
	}{
		"itself":  {f, fault.CapExceeded},
		"wrapped": {fmt.Errorf("while: %w", f), fault.CapExceeded},
		"joined":  {errors.Join(io.EOF, f), fault.CapExceeded},
		"foreign": {errors.New("open /home/owner/key: denied"), fault.Internal},
	} {
		got := fault.From(c.err)
		if got.Code != c.want || !fault.Is(got, c.want) {
			t.Errorf("%s: code %s, want %s", name, got.Code, c.want)
		}
		if strings.Contains(got.Error(), "/home/owner") {
			t.Errorf("%s: foreign text is shown: %s", name, got)
		}
	}
	foreign := errors.New("foreign")
	if !errors.Is(fault.From(foreign), foreign) {
		t.Error("a foreign error is not kept as the cause")
	}
	if fault.From(nil) != nil {
		t.Error("From(nil) is a fault")
	}
}

func TestIs(t *testing.T) {
	err := fmt.Errorf("while: %w", fault.New(fault.PriceMoved, "moved"))
	if !fault.Is(err, fault.PriceMoved) || fault.Is(err, fault.NoRoute) || fault.Is(nil, fault.PriceMoved) || fault.Is(io.EOF, fault.PriceMoved) {
		t.Error("Is does not tell codes apart")
	}
}
