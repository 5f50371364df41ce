package mutation_test

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"countersign/scripts/observer"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

// Unless told otherwise by -rapid.seed and -rapid.checks, every run tries the
// same mutants, and as many as fit into a minute on a busy
// machine.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.seed": "20261201", "rapid.checks": "700"} {
		if given[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

// tally counts what became of the mutants of one kind.
type tally struct {
	refused          map[string]int
	landed, reverted int
}

func (t *tally) refusals() int {
	sum := 0
	for _, n := range t.refused {
		sum += n
	}
	return sum
}

func (t *tally) String() string {
	var reasons []string
	for _, code := range slices.Sorted(maps.Keys(t.refused)) {
		reasons = append(reasons, fmt.Sprintf("%s %d", code, t.refused[code]))
	}
	return fmt.Sprintf("%4d landed, %3d reverted, %4d refused (%s)", t.landed, t.reverted, t.refusals(), strings.Join(reasons, ", "))
}

// lab tries transactions and undoes what they did.
type lab struct {
	*stage
	honest  []honest
	wrapped uint64
	opens   map[string][]string
	known   map[string][]string
}

func startLab(t *testing.T) *lab {
	s := startStage(t)
	l := &lab{stage: s, honest: s.honestOnes(), opens: map[string][]string{}, known: map[string][]string{}}
	for _, h := range l.honest {
		l.learn(h)
	}
	return l
}

// learn runs an honest transaction: it must pass and land, and what it opens
// and names is what its mutants may open and enrich.
func (l *lab) learn(h honest) {
	l.t.Helper()
	for _, call := range h.calls {
		for _, meta := range call.Accounts {
			l.known[h.name] = append(l.known[h.name], meta.Key.String())
		}
	}
	m := mutant{honest: h, message: h.message}
	m.message.Blockhash = l.blockhash()
	result, err := l.try(m, func(before, after purse) {
		for address := range after.accounts {
			if _, had := before.accounts[address]; !had {
				l.opens[h.name] = append(l.opens[h.name], address)
			}
		}
	})
	switch {
	case err != nil:
		l.t.Fatalf("honest %s: refused: %v", h.name, err)
	case result.failure != "":
		l.t.Fatalf("honest %s: failed on chain: %s", h.name, result.failure)
	}
	if wrongs := result.wrongs(); len(wrongs) > 0 {
		l.t.Fatalf("honest %s: %s", h.name, strings.Join(wrongs, "; "))
	}
	// An account of a mint that the bounds name may stay open, where a mutant
	// leaves out that it is closed.
	l.opens[h.name] = append(l.opens[h.name], solana.AssociatedTokenAddress(wallet, solana.WrappedSOL, solana.TokenProgram).String())
}

// try has a mutant judged, and if it passes, signs it, sends it, looks, and
// puts everything back. The error is a refusal.
func (l *lab) try(m mutant, seen func(before, after purse)) (trial, error) {
	l.setWrapped(uint64(m.honest.wrapped))
	var judged judge.Judged
	var refusal error
	_ = again(func() error {
		judged, refusal = l.judge.Judge(l.t.Context(), l.wire(m), m.honest.request)
		if refusal != nil && fault.From(refusal).Class() == fault.Operational {
			return refusal
		}
		return nil
	})
	if refusal != nil {
		return trial{}, refusal
	}
	if m.honest.request.Later && judged.Effects().Class() == effects.Unguarded {
		return trial{}, errUnguarded
	}
	return l.run(m.honest, judged, seen), nil
}

// errUnguarded is what the policy says to a transaction that nothing but
// simulation speaks for.
var errUnguarded = errors.New("unguarded")

func (l *lab) run(h honest, judged judge.Judged, seen func(before, after purse)) trial {
	l.t.Helper()
	tx := judged.Tx().Transaction()
	tx.Signatures[judged.Tx().WalletSlot()] = signed(tx.Message)
	result := trial{honest: h, charge: judged.Charge(), before: l.look(tx)}
	result.failure = l.send(tx.Marshal())
	result.after = l.look(tx)
	if seen != nil {
		seen(count(result.before), count(result.after))
	}
	result.opens, result.known = l.opens[h.name], l.known[h.name]
	l.restore(observer.Diff(result.before, result.after))
	return result
}

// setWrapped puts the wallet's wrapped-SOL account in place, or takes it away.
func (l *lab) setWrapped(units uint64) {
	if l.wrapped == units {
		return
	}
	l.wrapped = units
	account := chaintest.Token(solana.AssociatedTokenAddress(wallet, solana.WrappedSOL, solana.TokenProgram), solana.TokenProgram, solana.WrappedSOL, wallet, wrapped)
	if units == 0 {
		account.Lamports, account.Data, account.Owner = 0, nil, solana.SystemProgram
	}
	l.place(account)
}

// TestMutantsLoseNoMoreThanTheBounds: whatever one thing is changed in a valid
// transaction, it is refused, or what it costs the wallet stays within what
// was asked for, as the chain itself shows.
func TestMutantsLoseNoMoreThanTheBounds(t *testing.T) { mutate(t, false) }

// TestMutantsLoseNoMoreUnsimulated: the same without any simulation, as if
// every node lied about it. What the bytes show and the guard on chain must
// suffice, but for the class that admits that nothing but simulation speaks
// for it.
func TestMutantsLoseNoMoreUnsimulated(t *testing.T) { mutate(t, true) }

func mutate(t *testing.T, unsimulated bool) {
	l := startLab(t)
	tallies := map[string]*tally{}
	for _, each := range mutations {
		tallies[each.name] = &tally{refused: map[string]int{}}
	}
	rapid.Check(t, func(rt *rapid.T) {
		each := mutations[below(rt, "mutation", len(mutations))]
		m := l.mutant(rt, each, unsimulated)
		result, err := l.try(m, nil)
		switch {
		case err != nil:
			tallies[each.name].refused[reason(err)]++
			return
		case result.failure == "":
			tallies[each.name].landed++
		default:
			tallies[each.name].reverted++
		}
		if wrongs := result.wrongs(); len(wrongs) > 0 {
			rt.Fatalf("%s, %s changed (%s): %s\nbytes: %x", m.honest.name, each.name, result.failure, strings.Join(wrongs, "; "), l.wire(m))
		}
	})
	report(t, tallies)
}

func (l *lab) mutant(rt *rapid.T, each mutation, unsimulated bool) mutant {
	h := l.honest[below(rt, "transaction", len(l.honest))]
	h.request.Later = unsimulated
	m := mutant{honest: h, message: clone(h.message)}
	m.message.Blockhash = l.blockhash()
	each.apply(l.stage, rt, &m)
	return m
}

// report prints the tallies, and fails where they show that nothing was
// tested.
func report(t *testing.T, tallies map[string]*tally) {
	t.Helper()
	landed, refused := 0, 0
	for _, name := range slices.Sorted(maps.Keys(tallies)) {
		found := tallies[name]
		t.Logf("%-23s %s", name, found)
		landed, refused = landed+found.landed, refused+found.refusals()
		if found.refusals() == 0 {
			t.Errorf("no mutant with another %s was refused", name)
		}
	}
	if landed == 0 || refused == 0 {
		t.Errorf("%d mutants landed and %d were refused: one of both shows nothing", landed, refused)
	}
}

func reason(err error) string {
	if known, ok := errors.AsType[*fault.Fault](err); ok {
		return string(known.Code)
	}
	return err.Error()
}
