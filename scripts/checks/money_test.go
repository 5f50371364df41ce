package checks

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// floatNames are the identifiers that bring floating point into a file.
var floatNames = []string{"float32", "float64", "complex64", "complex128", "Float32", "Float64", "ParseFloat", "FormatFloat", "AppendFloat"}

func floats(file parsed) []string {
	var found []string
	ast.Inspect(file.file, func(node ast.Node) bool {
		switch n := node.(type) {
		case *ast.Ident:
			if slices.Contains(floatNames, n.Name) {
				found = append(found, file.at(n)+": "+n.Name)
			}
		case *ast.SelectorExpr:
			if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "big" && n.Sel.Name == "Float" {
				found = append(found, file.at(n)+": big.Float")
			}
		case *ast.BasicLit:
			if n.Kind == token.FLOAT || n.Kind == token.IMAG {
				found = append(found, file.at(n)+": "+n.Value)
			}
		}
		return true
	})
	return found
}

// Money is integers of base units everywhere, so floating point is banned from
// both daemons and what they share: no file has to be judged to be money code.
func TestNoFloatingPointNearMoney(t *testing.T) {
	for _, file := range sources(t, "shared", "signerd", "mcpd") {
		for _, place := range floats(file) {
			t.Errorf("%s: floating point; money is integers of base units (shared/amount)", place)
		}
	}
}

// The wire carries no floating point either.
func TestNoFloatingPointOnTheWire(t *testing.T) {
	seen := 0
	for _, name := range tracked(t) {
		if !strings.HasSuffix(name, ".proto") {
			continue
		}
		seen++
		for i, line := range strings.Split(read(t, name), "\n") {
			code, _, _ := strings.Cut(line, "//")
			if fields := strings.Fields(code); slices.Contains(fields, "double") || slices.Contains(fields, "float") {
				t.Errorf("%s:%d: floating point on the wire", name, i+1)
			}
		}
	}
	if seen == 0 {
		t.Error("no .proto file found")
	}
}

func TestFloatsAreFound(t *testing.T) {
	file := parse(t, `package p
import ("math/big"; "strconv")
var a = 0.1
var b float64
var c, _ = strconv.ParseFloat("1", 64)
var d big.Float
var e = 10 / 3`)
	if got := floats(file); len(got) != 4 {
		t.Errorf("found %v, want four places", got)
	}
}

func parse(t *testing.T, source string) parsed {
	t.Helper()
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, "planted.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	return parsed{"planted.go", file, set}
}
