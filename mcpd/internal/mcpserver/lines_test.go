package mcpserver

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

func TestLongLineKeepsItsIDWhereverItStands(t *testing.T) {
	padding := strings.Repeat(`{\"id\":9}`, 200_000)
	cases := map[string]string{
		"first":  `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":1,"p":"` + padding + `"}}`,
		"last":   `{"method" : "tools/call","params":{"id":1,"method":"x","p":["` + padding + `"]},"jsonrpc":"2.0", "id": 7 }`,
		"nested": `{"params":{"id":1,"a":{"id":2}},"x":"` + padding + `","id":7,"method":"tools/call"}`,
	}
	for name, line := range cases {
		t.Run(name, func(t *testing.T) {
			reader := newLineReader(strings.NewReader(line + "\n{}\n"))
			_, tooLong, err := reader.next()
			if err != nil || tooLong == nil || string(tooLong.id) != "7" || tooLong.method != "tools/call" {
				t.Fatalf("known = %+v, %v", tooLong, err)
			}
			next, tooLong, err := reader.next()
			if err != nil || tooLong != nil || strings.TrimSpace(string(next)) != "{}" {
				t.Errorf("next line = %q, %v", next, err)
			}
		})
	}
}

func TestEndlessLineUsesLittleMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	endless := io.LimitReader(repeat('x'), 64<<20)
	_, tooLong, err := newLineReader(io.MultiReader(strings.NewReader(`{"id":"a","method":"tools/call","params":"`), endless)).next()
	runtime.ReadMemStats(&after)
	if err != nil || tooLong == nil || string(tooLong.id) != `"a"` {
		t.Fatalf("known = %+v, %v", tooLong, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 16<<20 {
		t.Errorf("allocated %d bytes", used)
	}
}

type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// FuzzTopLevel compares the walker with the real parser.
func FuzzTopLevel(f *testing.F) {
	for _, seed := range []string{
		`{"id":1,"method":"a"}`, `{"method":"tools/call","params":{"id":3,"x":"}\"{"},"id":"q"}`, `{"a":[1,{"id":2}],"id":5}`,
		`{"i\u0064":4}`, `{ "id" : -1.5e3 , "method" : "m\n" }`, `{}`, `[]`, `{"id":{"id":1}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		scan := &topLevel{}
		scan.feed(raw)
		got := scan.result()
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return
		}
		var want bytes.Buffer
		if id := members["id"]; validID(id) {
			want.Write(id)
		}
		if string(got.id) != want.String() {
			t.Fatalf("%s: id %q, want %q", raw, got.id, want.String())
		}
		var method string
		if text := members["method"]; len(text) <= maxMember {
			_ = json.Unmarshal(text, &method)
		}
		if got.method != method {
			t.Fatalf("%s: method %q, want %q", raw, got.method, method)
		}
	})
}

func TestMessagesThatAreRefused(t *testing.T) {
	s := New(Options{Version: "test"})
	cases := map[string]string{
		"other case":        `{"jsonrpc":"2.0","id":1,"Method":"tools/list"}`,
		"look-alike":        `{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call"}`,
		"duplicate":         `{"jsonrpc":"2.0","id":1,"method":"tools/call","method":"ping"}`,
		"null id":           `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
		"object id":         `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
		"batch":             `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
		"not JSON":          `{"jsonrpc"`,
		"unknown tool":      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"<script>"}}`,
		"params look-alike": `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","Arguments":{}}}`,
		"deep":              fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":%s1%s}}`, strings.Repeat("[", 5000), strings.Repeat("]", 5000)),
	}
	for name, line := range cases {
		t.Run(name, func(t *testing.T) {
			_, refusal := s.readMessage([]byte(line))
			answer, ok := refusal.(protocolError)
			if !ok {
				t.Fatalf("refusal = %+v", refusal)
			}
			if strings.Contains(answer.Error.Message, "<script>") {
				t.Error("the answer repeats what was sent")
			}
		})
	}
}
