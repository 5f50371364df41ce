package checks

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// The architecture, lowest first. A package may import what stands on earlier
// lines of its own list and of the lists above it; packages on one line do not
// know each other. The order of a daemon is its data flow, read backwards.
//
// Helpers of tests stand last, where nothing that is built can reach them.
//
// Moving a line to make a build pass is a change of the architecture: say why in
// docs/architecture.md.
var layers = []struct {
	name  string
	may   []string // other lists it may import
	order string
}{
	{name: "shared", order: `
		proto/operator/v1 proto/signer/v1
		shared/alloctest shared/solana shared/fault shared/logging shared/buildinfo shared/lockfile shared/durable shared/untrusted shared/stricttoml
		shared/amount shared/gather shared/jsonrpc shared/uds shared/txerror
		shared/udsgrpc shared/faultgrpc
	`},
	{name: "mcpd", may: []string{"shared"}, order: `
		mcpd/internal/intent
		mcpd/internal/caps
		mcpd/internal/fuse
		mcpd/internal/bags
		mcpd/internal/plan
		mcpd/internal/chain
		mcpd/internal/simulate
		mcpd/internal/propose
		mcpd/internal/flow
		mcpd/internal/tools
		mcpd/internal/tools/*
		mcpd/internal/mcpserver
		mcpd/internal/config
		mcpd/internal/app
		mcpd
		mcpd/internal/*test
	`},
	{name: "signerd", may: []string{"shared"}, order: `
		signerd/internal/audit signerd/internal/peer signerd/internal/clock
		signerd/internal/decode
		signerd/internal/chain
		signerd/internal/guard
		signerd/internal/effects
		signerd/internal/judge signerd/internal/recipients signerd/internal/stated
		signerd/internal/policy
		signerd/internal/explain
		signerd/internal/approval
		signerd/internal/ledger
		signerd/internal/ledger/sqlite
		signerd/internal/custody/internal/nobus
		signerd/internal/custody/internal/keyring
		signerd/internal/custody
		signerd/internal/submit
		signerd/internal/flow
		signerd/internal/rebuild
		signerd/internal/methods
		signerd/internal/server signerd/internal/operator
		signerd/internal/config
		signerd/internal/app
		signerd
		signerd/internal/judge/speed signerd/internal/ledger/speed signerd/internal/judge/mutation signerd/internal/judge/permissions signerd/internal/judge/hostile signerd/internal/flow/soak
		signerd/internal/decode/decodetest
		signerd/internal/*/*test
	`},
	// What surrounds the daemons may import shared code only: the daemons are
	// run as processes, never linked.
	{name: "scripts", may: []string{"shared"}, order: `
		scripts/checks scripts/testreport scripts/mcpclient scripts/fixtures
		scripts/localnet scripts/observer
		scripts/vmtest
		scripts/sandbox/internal/build scripts/sandbox/internal/market scripts/sandbox/internal/strictjson
		scripts/sandbox/internal/chain
		scripts/sandbox/world scripts/sandbox/bagsclient
		scripts/sandbox/bagsandbox
		scripts/sandbox/internal/process
		scripts/sandbox scripts/stack
		scripts/crashpoint/filter
		scripts/crashpoint scripts/crashpoint/launch
		scripts/crash
		scripts/bench/trivialmcp scripts/bench
		scripts/dev scripts/demo scripts/e2e scripts/liar
	`},
}

// place is where a package stands.
type place struct {
	list int
	line int
}

type pattern struct {
	glob string
	place
}

func patterns() []pattern {
	var all []pattern
	for i, layer := range layers {
		for line, text := range strings.Split(layer.order, "\n") {
			for glob := range strings.FieldsSeq(text) {
				all = append(all, pattern{glob, place{i, line}})
			}
		}
	}
	return all
}

func find(all []pattern, name string) (place, bool) {
	for _, p := range all {
		if ok, err := path.Match(p.glob, name); err == nil && ok {
			return p.place, true
		}
	}
	return place{}, false
}

func TestImportsFollowTheLayers(t *testing.T) {
	all := patterns()
	for _, importer := range tree(t) {
		at, ok := find(all, importer.short())
		if !ok {
			t.Errorf("%s stands in no layer: give it a line in scripts/checks/layers_test.go", importer.short())
			continue
		}
		for _, imported := range importer.Imports {
			if !ours(imported) {
				continue
			}
			target, ok := find(all, short(imported))
			if !ok {
				continue // reported as an importer
			}
			if reason := forbidden(at, target); reason != "" {
				t.Errorf("%s imports %s: %s", importer.short(), short(imported), reason)
			}
		}
	}
}

// forbidden says why a package at one place may not import one at another, or
// nothing where it may.
func forbidden(from, to place) string {
	if from.list == to.list {
		switch {
		case to.line < from.line:
			return ""
		case to.line == from.line:
			return "they stand on the same line of the layers"
		default:
			return "it stands higher in the layers"
		}
	}
	if slices.Contains(layers[from.list].may, layers[to.list].name) {
		return ""
	}
	return "packages of " + layers[from.list].name + " do not import those of " + layers[to.list].name
}

func TestLayersNameOnlyPackagesThatExist(t *testing.T) {
	packages := tree(t)
	for _, p := range patterns() {
		found := false
		for _, candidate := range packages {
			if ok, err := path.Match(p.glob, candidate.short()); err != nil {
				t.Fatal(err)
			} else if ok {
				found = true
			}
		}
		if !found {
			t.Errorf("the layers name %s, which does not exist", p.glob)
		}
	}
}

func TestForbiddenFindsEachKindOfBadImport(t *testing.T) {
	at := func(name string) place {
		p, ok := find(patterns(), name)
		if !ok {
			t.Fatalf("%s stands in no layer", name)
		}
		return p
	}
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"signerd/internal/policy", "signerd/internal/decode", true},
		{"signerd/internal/decode", "signerd/internal/policy", false},
		{"signerd/internal/server", "signerd/internal/operator", false},
		{"signerd/internal/custody", "signerd/internal/custody/internal/keyring", true},
		{"signerd/internal/flow", "shared/solana", true},
		{"shared/solana", "shared/amount", false},
		{"shared/uds", "signerd/internal/peer", false},
		{"mcpd/internal/flow", "signerd/internal/decode", false},
		{"mcpd/internal/app", "scripts/mcpclient", false},
		{"scripts/e2e", "mcpd/internal/app", false},
	} {
		if got := forbidden(at(c.from), at(c.to)) == ""; got != c.allowed {
			t.Errorf("%s importing %s: allowed = %t, want %t", c.from, c.to, got, c.allowed)
		}
	}
}
