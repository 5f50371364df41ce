package recipients_test

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/ledger/sqlite"
	"countersign/signerd/internal/recipients"
	"countersign/signerd/internal/recipients/recipientstest"
)

var (
	wallet = solana.MustPublicKey("4UeLCRqARmfb6e6KQijtiktqqXUxbfk6jZng7DhuBAGS")
	friend = solana.MustPublicKey("9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu")
)

// world is a book over a real file and a real journal.
type world struct {
	book    *recipients.Book
	journal *audit.Log
	path    string
}

func newWorld(t *testing.T) world {
	t.Helper()
	folder := t.TempDir()
	store, err := sqlite.Create(t.Context(), filepath.Join(folder, "ledger.db"))
	if err != nil {
		t.Fatal(err)
	}
	journal, err := audit.Create(filepath.Join(folder, "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(store.Close(), journal.Close()) }) // A test may have closed the journal.
	return world{recipients.New(store, journal, wallet), journal, filepath.Join(folder, "audit.jsonl")}
}

func (w world) add(t *testing.T, name string, address solana.PublicKey) {
	t.Helper()
	if err := w.book.Add(t.Context(), recipients.Addition{Name: name, Address: address, By: recipients.Author{UID: 7, PID: 9}}); err != nil {
		t.Fatalf("add %s: %v", name, err)
	}
}

// near is the next key after k, in steps of distance, that somebody could hold.
func near(k solana.PublicKey, distance *big.Int) solana.PublicKey {
	number := new(big.Int).SetBytes(k[:])
	for {
		number.Add(number, distance)
		if next := (solana.PublicKey)(number.FillBytes(make([]byte, 32))); next.OnCurve() {
			return next
		}
	}
}

// other is a key that is nothing like friend.
var other = near(solana.PublicKey{9, 9, 9}, big.NewInt(1))

func TestResolveWhatWasAdded(t *testing.T) {
	w := newWorld(t)
	w.add(t, "Alice", friend)
	for _, name := range []string{"Alice", "alice", "ALICE"} {
		got, err := w.book.Resolve(t.Context(), name)
		if err != nil || got != (effects.Recipient{Name: "Alice", Address: friend}) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"alise", "al1ce", "a-lice"} {
		if _, err := w.book.Resolve(t.Context(), name); !fault.Is(err, fault.RecipientUnknown) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if removed, err := w.book.Remove(t.Context(), "aLiCe", recipients.Author{UID: 7}); err != nil || removed.Address != friend {
		t.Fatalf("remove: %v, %v", removed, err)
	}
	if _, err := w.book.Resolve(t.Context(), "Alice"); !fault.Is(err, fault.RecipientUnknown) {
		t.Errorf("after removal: %v", err)
	}
	if _, err := w.book.Remove(t.Context(), "Alice", recipients.Author{}); !fault.Is(err, fault.RecipientUnknown) {
		t.Errorf("removed twice: %v", err)
	}
	if book, err := w.book.List(t.Context()); err != nil || len(book) != 0 {
		t.Errorf("left: %v, %v", book, err)
	}
}

func TestRefuseNamesThatMislead(t *testing.T) {
	w := newWorld(t)
	w.add(t, "Morning-10", friend)
	for _, name := range []string{
		"", "1alice", "-a", "al ice", "alíce", "аlice", "a\nb", "a.b", strings.Repeat("a", 33), friend.String(),
		"Morning-10", "morning-10", "morning10", "MORNING_1O", "moming-lo", "Mornlng-I0",
	} {
		err := w.book.Add(t.Context(), recipients.Addition{Name: name, Address: other, Insist: true})
		if !fault.Is(err, fault.InvalidArguments) {
			t.Errorf("%q: %v", name, err)
		}
	}
	w.add(t, "Evening-10", other)
}

func TestRefuseAddressesThatAreNoWallet(t *testing.T) {
	w := newWorld(t)
	w.add(t, "friend", friend)
	for name, address := range map[string]solana.PublicKey{
		"zero":            {},
		"own wallet":      wallet,
		"token account":   solana.AssociatedTokenAddress(friend, wallet, solana.TokenProgram),
		"a program":       solana.Token2022Program,
		"wrapped SOL":     solana.WrappedSOL,
		"known by a name": friend,
	} {
		err := w.book.Add(t.Context(), recipients.Addition{Name: "x", Address: address, Insist: true})
		if !fault.Is(err, fault.InvalidArguments) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRefuseLookAlikeUnlessTheOwnerInsists(t *testing.T) {
	w := newWorld(t)
	w.add(t, "friend", friend)
	// A step of 58^20 leaves the last 20 letters and, nearly always, the first.
	middle := new(big.Int).Exp(big.NewInt(58), big.NewInt(20), nil)
	for name, known := range map[string]solana.PublicKey{"friend": friend, "the wallet itself": wallet} {
		addition := recipients.Addition{Name: "x", Address: near(known, middle)}
		err := w.book.Add(t.Context(), addition)
		if !fault.Is(err, fault.InvalidArguments) || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), known.String()) {
			t.Errorf("like %s: %v", name, err)
		}
		addition.Insist = true
		if err := w.book.Add(t.Context(), addition); err != nil {
			t.Errorf("insisted, like %s: %v", name, err)
		}
		if _, err := w.book.Remove(t.Context(), "x", recipients.Author{}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestRecordBeforeTheChange(t *testing.T) {
	w := newWorld(t)
	w.add(t, "Alice", friend)
	if _, err := w.book.Remove(t.Context(), "alice", recipients.Author{UID: 8}); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(w.path)
	if err != nil {
		t.Fatal(err)
	}
	type line struct {
		Kind string            `json:"kind"`
		Data map[string]string `json:"data"`
	}
	var got []line
	for text := range strings.Lines(string(raw)) {
		var one struct {
			Record line `json:"record"`
		}
		if err := json.Unmarshal([]byte(text), &one); err != nil {
			t.Fatal(err)
		}
		got = append(got, one.Record)
	}
	want := []line{
		{"recipient_added", map[string]string{"name": "Alice", "address": friend.String(), "insisted": "false", "uid": "7", "pid": "9"}},
		{"recipient_removed", map[string]string{"name": "Alice", "address": friend.String(), "uid": "8", "pid": "0"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("want -, got +\n%s", diff)
	}
	w.add(t, "Bob", friend)
	if err := w.journal.Close(); err != nil {
		t.Fatal(err)
	}
	err = w.book.Add(t.Context(), recipients.Addition{Name: "Carol", Address: other})
	if !fault.Is(err, fault.StateLocked) {
		t.Errorf("added without a record: %v", err)
	}
	if _, err := w.book.Remove(t.Context(), "Bob", recipients.Author{}); !fault.Is(err, fault.StateLocked) {
		t.Errorf("removed without a record: %v", err)
	}
	if book, err := w.book.List(t.Context()); err != nil || len(book) != 1 || book[0].Name != "Bob" {
		t.Errorf("book: %v, %v", book, err)
	}
}

// Whatever is added, a name and an address each lead to one entry, and a name
// in any case leads to its own.
func TestBookStaysUnambiguous(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		store := &recipientstest.Shelf{}
		book := recipients.New(store, recipientstest.Nowhere{}, wallet)
		for range rapid.IntRange(1, 12).Draw(rt, "additions") {
			var key solana.PublicKey
			copy(key[:], rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(rt, "key"))
			if !key.OnCurve() {
				key = friend
			}
			_ = book.Add(context.Background(), recipients.Addition{
				Name: rapid.StringMatching(`[a-bA-B0-1oOlL_-]{1,4}`).Draw(rt, "name"), Address: key, Insist: true,
			}) // Most are refused: the names are few.
		}
		names, addresses := map[string]bool{}, map[solana.PublicKey]bool{}
		for _, entry := range store.Entries {
			folded := strings.ToLower(entry.Name)
			if names[folded] || addresses[entry.Address] {
				rt.Fatalf("ambiguous: %v", store.Entries)
			}
			names[folded], addresses[entry.Address] = true, true
			if got, err := book.Resolve(context.Background(), strings.ToUpper(entry.Name)); err != nil || got != entry {
				rt.Fatalf("%s leads to %v, %v", entry.Name, got, err)
			}
		}
	})
}
