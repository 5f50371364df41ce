package app

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/flow"
	"countersign/mcpd/internal/mcpserver"
	"countersign/mcpd/internal/tools"
)

var update = flag.Bool("update", false, "write the snapshots of tool definitions anew")

func allTools() []tools.Tool {
	return catalogue(&flow.Engine{Book: caps.NewBook(caps.Own{})}, nil)
}

func TestCatalogueIsComplete(t *testing.T) {
	want := []string{
		"bags_get_quote", "bags_execute_trade", "bags_get_claimable_fees", "bags_claim_fees", "solana_transfer",
		"wallet_overview", "get_spending_limits", "get_receipt", "list_activity", "cancel_proposal",
	}
	var got, writes []string
	for _, tool := range allTools() {
		got = append(got, tool.Name)
		if tool.Writes {
			writes = append(writes, tool.Name)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"bags_execute_trade", "bags_claim_fees", "solana_transfer"}, writes); diff != "" {
		t.Errorf("writing tools (-want +got):\n%s", diff)
	}
}

// compile builds a validator that loads nothing from outside.
func compile(raw []byte) (*jsonschema.Schema, error) {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(jsonschema.SchemeURLLoader{})
	if err := compiler.AddResource("mem:///schema.json", document); err != nil {
		return nil, err
	}
	return compiler.Compile("mem:///schema.json")
}

func TestDefinitionsAreWhole(t *testing.T) {
	for _, tool := range allTools() {
		t.Run(tool.Name, func(t *testing.T) {
			definition := mcpserver.Definition(tool)
			for _, raw := range []json.RawMessage{definition.RawInputSchema, definition.RawOutputSchema} {
				if _, err := compile(raw); err != nil {
					t.Errorf("a schema does not compile: %v\n%s", err, raw)
				}
			}
			hints := definition.Annotations
			if hints.ReadOnlyHint == nil || hints.DestructiveHint == nil || hints.IdempotentHint == nil || hints.OpenWorldHint == nil {
				t.Error("an annotation is missing")
			}
			if tool.Writes != *hints.DestructiveHint || *hints.ReadOnlyHint && *hints.DestructiveHint {
				t.Error("annotations and Writes disagree")
			}
			if len(tool.Name) > 40 || tool.Title == "" || len(tool.Description) < 60 || len(tool.Description) > 2000 {
				t.Errorf("name, title or description of %d characters", len(tool.Description))
			}
			if tool.Check == nil || tool.Handle == nil {
				t.Error("no check or handler")
			}
			checkClosed(t, "input", map[string]any(tool.Input))
			checkClosed(t, "output", map[string]any(tool.Output))
			for _, combinator := range []string{"oneOf", "anyOf", "allOf"} {
				if _, there := tool.Input[combinator]; there {
					t.Errorf("input has %s at the top: some clients drop the tool", combinator)
				}
			}
			for _, name := range []string{"user_public_key", "base_url", "api_key", "wallet", "slippage_mode"} {
				if _, there := tool.Input["properties"].(tools.Properties)[name]; there {
					t.Errorf("a caller may set %s", name)
				}
			}
		})
	}
}

// checkClosed wants every object to refuse what it does not name, and every
// argument to say what it is.
func checkClosed(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	if schema["type"] == "object" && schema["additionalProperties"] != false {
		t.Errorf("%s is open", path)
	}
	for _, group := range []string{"properties", "$defs"} {
		members, _ := schema[group].(tools.Properties)
		for name, member := range members {
			checkClosed(t, path+"."+name, member)
			if path == "input" && member["description"] == nil {
				t.Errorf("%s.%s has no description", path, name)
			}
		}
	}
	if items, ok := schema["items"].(tools.Schema); ok {
		checkClosed(t, path+"[]", items)
	}
}

func TestDefinitionsMatchTheirSnapshots(t *testing.T) {
	for _, tool := range allTools() {
		t.Run(tool.Name, func(t *testing.T) {
			raw, err := json.Marshal(mcpserver.Definition(tool))
			if err != nil {
				t.Fatal(err)
			}
			var pretty bytes.Buffer
			if err := json.Indent(&pretty, raw, "", "  "); err != nil {
				t.Fatal(err)
			}
			pretty.WriteByte('\n')
			path := filepath.Join("testdata", "tools", tool.Name+".json")
			if *update {
				if err := os.WriteFile(path, pretty.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatalf("no snapshot; look at the definition, then run go test ./mcpd/internal/app -update: %v", err)
			}
			if diff := cmp.Diff(string(want), pretty.String()); diff != "" {
				t.Errorf("the definition has changed (-snapshot +now):\n%s", diff)
			}
		})
	}
	entries, err := os.ReadDir(filepath.Join("testdata", "tools"))
	if err != nil || len(entries) != len(allTools()) {
		t.Errorf("%d snapshots for %d tools (%v)", len(entries), len(allTools()), err)
	}
}

// checkOutput compares what a tool answered with its own output schema, as a
// strict client does, errors included.
func checkOutput(t *testing.T, name string, got answer) {
	t.Helper()
	schema, known := outputSchemas()[name]
	if !known {
		t.Fatalf("%s is no tool", name)
	}
	var result struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	if err := json.Unmarshal(got.raw, &result); err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(result.Structured))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); err != nil {
		t.Errorf("%s does not answer as its schema says: %v\n%s", name, err, result.Structured)
	}
}

var outputSchemas = sync.OnceValue(func() map[string]*jsonschema.Schema {
	schemas := map[string]*jsonschema.Schema{}
	for _, tool := range allTools() {
		schema, err := compile(mcpserver.Definition(tool).RawOutputSchema)
		if err != nil {
			panic(err)
		}
		schemas[tool.Name] = schema
	}
	return schemas
})
