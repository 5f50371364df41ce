package stricttoml_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"countersign/shared/stricttoml"
)

type file struct {
	Name string `toml:"name"`
	Caps struct {
		PerDay string `toml:"per_day"`
	} `toml:"caps"`
	Mint []struct {
		Name  string `toml:"name"`
		Inner struct {
			Deep int `toml:"deep"`
		} `toml:"inner"`
	} `toml:"mint"`
}

func TestDecodeRefusesWhatItWouldIgnore(t *testing.T) {
	tests := []struct {
		name, text string
		want       stricttoml.Error
	}{
		{"unknown key", "name = \"a\"\nnmae = \"b\"\n", stricttoml.Error{Line: 2, Column: 1, Text: `unknown key "nmae"`}},
		{"unknown table", "[cap]\nper_day = \"1 SOL\"\n", stricttoml.Error{Line: 1, Column: 2, Text: `unknown key "cap"`}},
		{"other case", "[caps]\n  Per_Day = \"1 SOL\"\n", stricttoml.Error{Line: 2, Column: 3, Text: `unknown key "Per_Day" (keys are written in lower case)`}},
		{"other case of a table", "[Caps]\n", stricttoml.Error{Line: 1, Column: 2, Text: `unknown key "Caps" (keys are written in lower case)`}},
		{"other case inside a value", "mint = [{name = \"a\", inner = {Deep = 1}}]\n", stricttoml.Error{Line: 1, Column: 31, Text: `unknown key "Deep" (keys are written in lower case)`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var into file
			_, err := stricttoml.Decode([]byte(test.text), &into)
			var found stricttoml.Errors
			if !errors.As(err, &found) {
				t.Fatalf("Decode = %v, want Errors", err)
			}
			if diff := cmp.Diff(stricttoml.Errors{test.want}, found); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecodePlacesTypeAndSyntaxErrors(t *testing.T) {
	for name, text := range map[string]string{
		"type":      "name = \"a\"\n[caps]\nper_day = 1\n",
		"syntax":    "name = \"a\"\n[caps]\nper_day = \n",
		"duplicate": "name = \"a\"\n[caps]\nper_day = \"1\"\nper_day = \"2\"\n",
	} {
		t.Run(name, func(t *testing.T) {
			var into file
			_, err := stricttoml.Decode([]byte(text), &into)
			var found stricttoml.Errors
			if !errors.As(err, &found) || len(found) != 1 {
				t.Fatalf("Decode = %v, want one error", err)
			}
			if name != "duplicate" && found[0].Line != 3 {
				t.Errorf("error at line %d, want 3: %v", found[0].Line, found[0])
			}
		})
	}
}

func TestPositionsPointAtKeys(t *testing.T) {
	text := "name = \"a\"\n\n[caps]\nper_day = \"1 SOL\"\n\n[[mint]]\nname = \"x\"\n\n[[mint]]\nname = \"y\"\n"
	var into file
	positions, err := stricttoml.Decode([]byte(text), &into)
	if err != nil {
		t.Fatal(err)
	}
	for path, line := range map[string]int{"name": 1, "caps.per_day": 4, "mint[0].name": 7, "mint[1].name": 10, "caps.missing": 3, "mint[1].decimals": 9} {
		if got := positions.Error(path, "bad"); got.Line != line {
			t.Errorf("Error(%q) at line %d, want %d", path, got.Line, line)
		}
	}
}

func TestPositionsPointIntoInlineTables(t *testing.T) {
	text := "caps = {per_day = \"1\"}\nmint = [{name = \"x\"}, {name = \"y\"}]\n"
	var into file
	positions, err := stricttoml.Decode([]byte(text), &into)
	if err != nil {
		t.Fatal(err)
	}
	want := stricttoml.Error{Line: 2, Column: 24, Text: "mint[1].name: bad"}
	if got := positions.Error("mint[1].name", "bad"); got != want {
		t.Errorf("Error = %v, want %v", got, want)
	}
	if got := positions.Error("caps.per_day", "bad"); got.Column != 9 {
		t.Errorf("a key of an inline table: %v, want column 9", got)
	}
}

func TestDecodeNamesNoGoType(t *testing.T) {
	var into file
	_, err := stricttoml.Decode([]byte("[caps]\nper_day = 1.5\n"), &into)
	if err == nil || strings.Contains(err.Error(), "struct") || !strings.Contains(err.Error(), "float") {
		t.Errorf("Decode = %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("name = \"a\"\n[caps]\nper_day = \"1 SOL\"\n[[mint]]\nname = \"x\"\ninner = {deep = 3}\n"))
	f.Add([]byte("Name = 1\n[a.b]\n\"c d\" = [[1],[2]]\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var into file
		_, err := stricttoml.Decode(raw, &into)
		if err == nil && strings.Contains(strings.ToLower(string(raw)), "nmae =") && !strings.ContainsAny(string(raw), "#\"'") {
			t.Errorf("accepted an unknown key: %q", raw)
		}
	})
}
