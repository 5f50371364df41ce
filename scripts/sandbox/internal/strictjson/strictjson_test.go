package strictjson

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var pair = Fields{"name": String, "quote": Object}

func TestDecodeRefusesWhatIsNotDeclared(t *testing.T) {
	for _, test := range []struct{ name, body, want string }{
		{"empty", ``, "not valid JSON"},
		{"null", `null`, "must be a JSON object"},
		{"array", `[]`, "must be a JSON object"},
		{"cut off", `{"name":"a"`, "not valid JSON"},
		{"trailing value", `{"name":"a","quote":{}} {}`, "follows"},
		{"trailing text", `{"name":"a","quote":{}}x`, "follows"},
		{"unknown", `{"name":"a","quote":{},"more":1}`, `unknown field "more"`},
		{"other case", `{"Name":"a","quote":{}}`, `unknown field "Name"`},
		{"missing", `{"name":"a"}`, `field "quote" is required`},
		{"number for text", `{"name":1,"quote":{}}`, `field "name" must be a string`},
		{"null for text", `{"name":null,"quote":{}}`, `field "name" must be a string`},
		{"text for object", `{"name":"a","quote":"{}"}`, `field "quote" must be an object`},
		{"repeated", `{"name":"a","name":"a","quote":{}}`, `field "name" is repeated`},
		{"repeated by escape", `{"name":"a","n\u0061me":"a","quote":{}}`, `field "name" is repeated`},
		{"repeated inside", `{"name":"a","quote":{"x":[{"y":1,"y":1}]}}`, `field "y" is repeated`},
		{"too deep", `{"name":"a","quote":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat(`}`, 41), "deeper"},
		{"not UTF-8", "{\"name\":\"\xff\",\"quote\":{}}", "UTF-8"},
	} {
		t.Run(test.name, func(t *testing.T) {
			object, err := Decode([]byte(test.body), pair)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one with %q", err, test.want)
			}
			if object != nil {
				t.Errorf("a refused body gave %v", object)
			}
		})
	}
}

func TestDecodeKeepsTheBytesOfAValue(t *testing.T) {
	object, err := Decode([]byte(` { "quote" : {"a": 1.50, "b":9007199254740993} , "name":"\u0041"}`), pair)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"a": 1.50, "b":9007199254740993}`, string(object["quote"])); diff != "" {
		t.Error(diff)
	}
	if got := Text(object["name"]); got != "A" {
		t.Errorf("name is %q", got)
	}
}

func TestItemsSplitsAnArray(t *testing.T) {
	object, err := Decode([]byte(`{"items":[{"a":1},"b"]}`), Fields{"items": Array})
	if err != nil {
		t.Fatal(err)
	}
	want := []json.RawMessage{json.RawMessage(`{"a":1}`), json.RawMessage(`"b"`)}
	if diff := cmp.Diff(want, Items(object["items"])); diff != "" {
		t.Error(diff)
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"name":"a","quote":{}}`, `{"name":"a","quote":{"x":[1,{"y":null}]}}`, `{`, `{"a":`, `[[[[`, `"`, "\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		object, err := Decode(raw, pair)
		if (err == nil) != (object != nil) {
			t.Fatalf("object %v with error %v", object, err)
		}
		if err != nil {
			return
		}
		if len(object) != len(pair) || !json.Valid(object["quote"]) {
			t.Fatalf("accepted %q as %v", raw, object)
		}
		_ = Text(object["name"])
	})
}
