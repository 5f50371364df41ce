package approval_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/shared/fault"
	"countersign/signerd/internal/approval"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/policy"
)

var (
	noon   = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	intent = [32]byte{1}
	other  = [32]byte{2}
)

const code = "THECODE"

// newBook is a book with one open proposal, p1, that was given to session s1.
func newBook(t testing.TB) (*approval.Book, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ledger.db")
	store, err := sqlite.Create(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := store.InsertProposal(t.Context(), approval.Record{CodeHash: sha256.Sum256([]byte(code)), Proposal: approval.Proposal{
		ID: "p1", State: approval.Open, Session: "s1", Fingerprint: intent, Tier: policy.Confirm,
		CreatedAt: noon, ExpiresAt: noon.Add(5 * time.Minute),
	}}, nil); err != nil {
		t.Fatal(err)
	}
	return approval.NewBook(store), path
}

func state(t testing.TB, b *approval.Book) approval.State {
	t.Helper()
	p, err := b.Get(t.Context(), "p1")
	if err != nil {
		t.Fatal(err)
	}
	return p.State
}

func TestShowOpenCode(t *testing.T) {
	for name, test := range map[string]struct {
		code, session string
		fingerprint   [32]byte
		at            time.Duration
		want          fault.Code
		after         approval.State
	}{
		"right":             {code, "s1", intent, time.Minute, "", approval.Open},
		"last instant":      {code, "s1", intent, 5*time.Minute - 1, "", approval.Open},
		"too late":          {code, "s1", intent, 5 * time.Minute, fault.CodeExpired, approval.Expired},
		"clock set back":    {code, "s1", intent, -3 * time.Second, fault.CodeExpired, approval.Expired},
		"clock corrected":   {code, "s1", intent, -time.Second, "", approval.Open},
		"other arguments":   {code, "s1", other, time.Minute, fault.CodeOtherIntent, approval.Cancelled},
		"other session":     {code, "s2", intent, time.Minute, fault.CodeVoid, approval.Cancelled},
		"never given":       {"THECODF", "s1", intent, time.Minute, fault.CodeUnknown, approval.Open},
		"other case":        {"thecode", "s1", intent, time.Minute, fault.CodeUnknown, approval.Open},
		"empty":             {"", "s1", intent, time.Minute, fault.CodeUnknown, approval.Open},
		"megabytes of code": {strings.Repeat("A", 1<<20), "s1", intent, time.Minute, fault.CodeUnknown, approval.Open},
	} {
		for _, take := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", consume", false: ", peek"}[take], func(t *testing.T) {
				b, _ := newBook(t)
				at := noon.Add(test.at)
				var err error
				var grant approval.Grant
				if take {
					grant, err = b.Consume(t.Context(), test.code, test.fingerprint, test.session, at)
				} else {
					_, err = b.Peek(t.Context(), test.code, test.fingerprint, test.session, at)
				}
				if test.want == "" && err != nil || test.want != "" && !fault.Is(err, test.want) {
					t.Errorf("got %v, want %q", err, test.want)
				}
				want := test.after
				if take && test.want == "" {
					want = approval.Executing
				}
				if grant.Stamped() != (take && test.want == "") {
					t.Errorf("grant stamped: %v", grant.Stamped())
				}
				if got := state(t, b); got != want {
					t.Errorf("afterwards %s, want %s", got, want)
				}
				if want == approval.Cancelled {
					if _, err := b.Consume(t.Context(), code, intent, "s1", at); !fault.Is(err, fault.CodeVoid) {
						t.Errorf("a voided code gives %v", err)
					}
				}
			})
		}
	}
}

func TestShowUsedCode(t *testing.T) {
	b, _ := newBook(t)
	if _, err := b.Consume(t.Context(), code, intent, "s1", noon); err != nil {
		t.Fatal(err)
	}
	late := noon.Add(time.Hour)
	for _, session := range []string{"s1", "s2"} {
		if p, err := b.Peek(t.Context(), code, intent, session, late); err != nil || p.State != approval.Executing {
			t.Errorf("peek from %s: %s, %v", session, p.State, err)
		}
		if g, err := b.Consume(t.Context(), code, intent, session, late); !errors.Is(err, approval.ErrAlreadyUsed) || g.Stamped() {
			t.Errorf("consume from %s: %v", session, err)
		}
		if _, err := b.Peek(t.Context(), code, other, session, late); !fault.Is(err, fault.CodeOtherIntent) {
			t.Errorf("other arguments from %s: %v", session, err)
		}
	}
	if err := b.Finish(t.Context(), "p1", []byte("receipt"), late); err != nil {
		t.Fatal(err)
	}
	if p, err := b.Peek(t.Context(), code, intent, "s2", late); err != nil || p.State != approval.Done || string(p.Receipt) != "receipt" {
		t.Errorf("peek after the end: %+v, %v", p, err)
	}
	if err := b.Finish(t.Context(), "p1", []byte("better"), late); err != nil {
		t.Errorf("a settled outcome cannot replace an unknown one: %v", err)
	}
	if p, err := b.ByCode(t.Context(), code); err != nil || string(p.Receipt) != "better" || !p.FinishedAt.Equal(late) {
		t.Errorf("by code: %+v, %v", p, err)
	}
}

// TestConsumeOnce has a thousand callers use one code at once.
func TestConsumeOnce(t *testing.T) {
	b, _ := newBook(t)
	var grants, used atomic.Int64
	var group sync.WaitGroup
	for range 1000 {
		group.Go(func() {
			switch _, err := b.Consume(context.Background(), code, intent, "s1", noon); {
			case err == nil:
				grants.Add(1)
			case errors.Is(err, approval.ErrAlreadyUsed):
				used.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if grants.Load() != 1 || used.Load() != 999 {
		t.Errorf("%d grants and %d told that it was used; want 1 and 999", grants.Load(), used.Load())
	}
}

func TestKeepCodeOffTheDisk(t *testing.T) {
	_, path := newBook(t)
	for _, suffix := range []string{"", "-wal"} {
		content, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), code) {
			t.Errorf("the code stands in the ledger file%s", suffix)
		}
	}
}

func TestCancelOwnProposal(t *testing.T) {
	b, _ := newBook(t)
	if _, err := b.Cancel(t.Context(), "p1", "s2", noon); !fault.Is(err, fault.NotFound) || state(t, b) != approval.Open {
		t.Errorf("another session's cancel: %v, %s", err, state(t, b))
	}
	if got, err := b.Cancel(t.Context(), "p1", "s1", noon); err != nil || got != approval.Cancelled {
		t.Errorf("cancel: %s, %v", got, err)
	}
	if _, err := b.Consume(t.Context(), code, intent, "s1", noon); !fault.Is(err, fault.CodeVoid) {
		t.Errorf("consume after cancel: %v", err)
	}
	used, _ := newBook(t)
	if _, err := used.Consume(t.Context(), code, intent, "s1", noon); err != nil {
		t.Fatal(err)
	}
	if got, err := used.Cancel(t.Context(), "p1", "s1", noon); err != nil || got != approval.Executing {
		t.Errorf("cancel of what is being executed: %s, %v", got, err)
	}
}

func TestVoidOpenAtStart(t *testing.T) {
	b, _ := newBook(t)
	if err := b.VoidOpen(t.Context(), noon); err != nil {
		t.Fatal(err)
	}
	if _, err := b.Consume(t.Context(), code, intent, "s1", noon); !fault.Is(err, fault.CodeExpired) {
		t.Errorf("got %v", err)
	}
	started, _ := newBook(t)
	if _, err := started.Consume(t.Context(), code, intent, "s1", noon); err != nil {
		t.Fatal(err)
	}
	if err := started.VoidOpen(t.Context(), noon); err != nil {
		t.Fatal(err)
	}
	list, err := started.Unfinished(t.Context())
	if err != nil || len(list) != 1 || list[0].ID != "p1" {
		t.Errorf("unfinished: %v, %v", list, err)
	}
}

func TestStoreDeniedDraftWithoutCode(t *testing.T) {
	b, _ := newBook(t)
	draft := approval.Draft{Session: "s1", Tool: "tool", Fingerprint: intent, TTL: time.Minute, Denied: fault.New(fault.CapExceeded, "too much")}
	p, given, err := b.Open(t.Context(), draft, noon)
	if err != nil || given != "" || p.State != approval.Denied {
		t.Fatalf("%+v, %q, %v", p, given, err)
	}
	stored, err := b.Get(t.Context(), p.ID)
	if err != nil || stored.Denied == nil || stored.Denied.Code != fault.CapExceeded || stored.Tier != policy.Deny {
		t.Errorf("stored %+v, %v", stored, err)
	}
	draft.Denied = nil
	if _, _, err := b.Open(t.Context(), draft, noon); err == nil {
		t.Error("a code was given for a decision that nobody made")
	}
	list, err := b.List(t.Context(), 10, "")
	if err != nil || len(list) != 2 || list[0].ID != p.ID {
		t.Errorf("list: %d, %v", len(list), err)
	}
}
