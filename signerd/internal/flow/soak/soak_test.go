package soak

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/custody"
	"countersign/signerd/internal/policy"
)

// countVariable says how many random schedules are run, where it is not usual.
const (
	countVariable = "SOAK_SCHEDULES"
	usual         = 2000
)

func schedules(t *testing.T) int {
	t.Helper()
	text, set := os.LookupEnv(countVariable)
	if !set {
		return usual
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		t.Fatalf("%s is %q, want a number", countVariable, text)
	}
	return count
}

// event is one thing that happens, and how much of it.
type event struct {
	what string
	n    int
}

func (e event) String() string { return fmt.Sprintf("%s %d", e.what, e.n) }

// happens are what can happen, the common more often.
var happens = []string{
	"propose", "propose", "propose", "propose", "propose as b", "propose by name", "repeat",
	"confirm", "confirm", "confirm", "confirm", "confirm", "confirm", "confirm all",
	"pass", "pass", "pass", "pass", "pass", "pass", "expire", "hours",
	"drop", "land late", "fail on chain", "answer with an error", "refuse",
	"lie", "lie", "tell the truth", "node down", "nodes up",
	"crash", "crash soon", "crash soon", "restart",
	"clock ahead", "clock back", "clock right", "accept clock",
	"look",
}

// schedule is a random one.
func schedule(t *rapid.T) (mustAnswer int, events []event) {
	one := rapid.Custom(func(t *rapid.T) event {
		return event{rapid.SampledFrom(happens).Draw(t, "what"), rapid.IntRange(0, 11).Draw(t, "n")}
	})
	return rapid.IntRange(1, 2).Draw(t, "must answer"), rapid.SliceOfN(one, 12, 40).Draw(t, "events")
}

// do makes an event happen.
func (w *world) do(e event) {
	switch e.what {
	case "pass":
		w.chain.pause(1 + e.n)
	case "expire":
		w.chain.pause(solana.BlockhashLifetime + 30)
	case "drop":
		w.chain.fateOfNext(fate{dropped: 1 + e.n*8}) // Some are forgotten until they expire.
	case "land late":
		w.chain.fateOfNext(fate{late: uint64(e.n) * 14})
	case "fail on chain":
		w.chain.fateOfNext(fate{fails: true})
	case "answer with an error":
		w.chain.fateOfNext(fate{silent: true, dropped: e.n % 3})
	case "clock ahead":
		w.setAhead(e.n)
	case "clock back":
		w.mu.Lock()
		w.back = time.Duration(e.n) * 20 * time.Second
		w.mu.Unlock()
	case "clock right":
		w.mu.Lock()
		w.back = 0
		w.mu.Unlock()
	default:
		w.doToNodes(e)
	}
}

// setAhead sets the clock ahead, by seconds or by more than a day. The chain does
// not move.
func (w *world) setAhead(n int) {
	by := time.Duration(n) * 15 * time.Second
	if n > 8 {
		w.stop() // Or it would look for outcomes at each tick of the hours.
		by = 26 * time.Hour
	}
	w.mu.Lock()
	w.ahead += by
	w.mu.Unlock()
	time.Sleep(by)
	if w.run == nil {
		w.start()
	}
}

func (w *world) doToNodes(e event) {
	switch e.what {
	case "refuse":
		w.run.nodes.set(func(n *nodes) { n.refuses = e.n%2 == 0 })
	case "lie":
		if w.mustAnswer == 2 { // With one that must answer none may lie.
			w.run.nodes.set(func(n *nodes) { n.lie = lie(e.n) % lies })
		}
	case "tell the truth":
		w.run.nodes.set(func(n *nodes) { n.lie, n.refuses = honest, false })
	case "node down":
		w.run.nodes.set(func(n *nodes) { n.down[e.n%2] = true })
	case "nodes up":
		w.run.nodes.set(func(n *nodes) { n.down = [2]bool{} })
	default:
		w.doToSigner(e)
	}
}

func (w *world) doToSigner(e event) {
	switch e.what {
	case "crash":
		w.run.gate.shutNow()
	case "crash soon":
		w.run.gate.shutIn(1 + e.n*3)
	case "restart":
		w.stop()
		w.start()
	case "hours":
		w.stop()
		w.chain.skip(uint64(e.n+2) * 9000)
		time.Sleep(time.Duration(e.n+2) * time.Hour)
		w.start()
	case "accept clock":
		w.stop()
		w.acceptClock()
		w.start()
	default:
		w.ask(e)
	}
}

// ask is what clients do.
func (w *world) ask(e event) {
	switch e.what {
	case "propose":
		w.propose(e.n%5, "a", "")
		return
	case "propose as b":
		w.propose(e.n%5, "b", "")
		return
	case "propose by name":
		w.propose(e.n%5, "a", "name "+strconv.Itoa(e.n))
		return
	}
	w.mu.Lock()
	orders := append([]*order(nil), w.orders...)
	w.mu.Unlock()
	if len(orders) == 0 {
		return
	}
	o := orders[len(orders)-1-e.n%min(len(orders), 4)]
	switch e.what {
	case "repeat":
		w.repeat(o)
	case "confirm":
		w.confirm(o)
	case "confirm all":
		for _, o := range orders {
			w.confirm(o)
			w.confirm(o)
		}
	case "look":
		w.look(o)
	}
}

// TestRandomSchedules: whatever happens in whatever order, a count from the chain
// alone never disagrees with the ledger and the receipts, and in the end all three
// say the same. Each of these lines is missed by it: the call of RecordSigned in
// execution.sign, "Unknown" in flow.settle, which keeps a reservation, DaySince in
// the ledger's window, and the check of the state in approval's show.
func TestRandomSchedules(t *testing.T) {
	s := newSoak(t)
	const workers = 2
	each := (schedules(t) + workers - 1) / workers
	if err := flag.Set("rapid.checks", strconv.Itoa(each)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		t.Logf("%d schedules of %d events: %d crashes, %d payments landed, %d failed on chain, %d disagreements",
			s.runs.Load(), s.events.Load(), s.crashes.Load(), s.landed.Load(), s.failed.Load(), s.wrong.Load())
		if s.landed.Load() == 0 || s.crashes.Load() == 0 {
			t.Error("nothing landed, or nothing crashed: the schedules test nothing")
		}
	})
	for worker := range workers {
		t.Run(fmt.Sprint("worker", worker), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(r *rapid.T) {
				mustAnswer, events := schedule(r)
				if wrong := s.runOne(t, mustAnswer, events); len(wrong) > 0 {
					r.Fatal(strings.Join(wrong, "\n"))
				}
			})
		})
	}
}

// soak is what the schedules share.
type soak struct {
	folder, fresh                                string
	key                                          *custody.Signer
	rules                                        *policy.Policy
	runs, events, crashes, landed, failed, wrong atomic.Int64
}

func newSoak(t testing.TB) *soak {
	t.Helper()
	s := &soak{folder: fastFolder(t)}
	s.fresh = filepath.Join(s.folder, "fresh")
	check(t, os.Mkdir(s.fresh, 0o700))
	check(t, createState(s.fresh))
	options := custody.Options{Backend: "file", StateDir: s.fresh, PassphraseFile: filepath.Join(s.fresh, "passphrase"), Timeout: 10 * time.Second}
	check(t, custody.Prepare(options, false))
	vault, err := custody.Open(options)
	check(t, err)
	_, err = vault.Create(t.Context(), "main")
	check(t, err)
	s.key, err = vault.Unlock(t.Context(), "main")
	check(t, err)
	t.Cleanup(s.key.Close)
	s.rules = rulesOf(t, perTransaction, perSession, perDay, perHour)
	return s
}

// fastFolder lies in memory where the system has such a place: what a flush is
// worth is tested by scripts/crash.
func fastFolder(t testing.TB) string {
	t.Helper()
	folder, err := os.MkdirTemp("/dev/shm", "soak")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// rulesOf are the default policy's with other caps.
func rulesOf(t testing.TB, perTransaction, perSession, perDay amount.Units, perHour int) *policy.Policy {
	t.Helper()
	sol := func(units amount.Units) string { return strconv.Quote(units.Decimal(amount.SOLDecimals) + " SOL") }
	text := string(policy.Default("local", genesis))
	for old, now := range map[string]string{
		`new = "human"`: `new = "confirm"`, `per_transaction = "0.1 SOL"`: "per_transaction = " + sol(perTransaction),
		`per_session = "1 SOL"`: "per_session = " + sol(perSession), `per_day = "2 SOL"`: "per_day = " + sol(perDay),
		`transactions_per_hour = 30`: "transactions_per_hour = " + strconv.Itoa(perHour),
	} {
		if !strings.Contains(text, old) {
			t.Fatalf("the default policy has no %q", old)
		}
		text = strings.Replace(text, old, now, 1)
	}
	rules, err := policy.Load([]byte(text))
	check(t, err)
	return rules
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// runOne runs one schedule in time that passes only while nothing happens, and
// gives what was wrong.
func (s *soak) runOne(t *testing.T, mustAnswer int, events []event) (wrong []string) {
	dir, err := os.MkdirTemp(s.folder, "run")
	check(t, err)
	defer func() { _ = os.RemoveAll(dir) }()
	check(t, copyState(s.fresh, dir))
	synctest.Test(t, func(*testing.T) {
		w := &world{
			dir: dir, key: s.key, rules: s.rules, mustAnswer: mustAnswer, began: time.Now(),
			chain: newBlockchain(s.key.PublicKey(), 5_000_000_000),
		}
		w.outside = &nodes{chain: w.chain}
		w.start()
		for i, e := range events {
			if w.run == nil || len(w.wrong) > 0 {
				break
			}
			w.do(e)
			if w.check(); len(w.wrong) > 0 {
				w.fail("after event %d, %s", i, e)
			}
		}
		if w.run != nil && len(w.wrong) == 0 {
			w.heal()
		}
		w.stop()
		wrong = w.wrong
		s.count(w, len(events))
	})
	return wrong
}

func (s *soak) count(w *world, events int) {
	s.runs.Add(1)
	s.events.Add(int64(events))
	s.crashes.Add(int64(w.crashes))
	s.wrong.Add(int64(len(w.wrong)))
	for _, l := range w.chain.observed() {
		if l.failed {
			s.failed.Add(1)
		} else {
			s.landed.Add(1)
		}
	}
}
