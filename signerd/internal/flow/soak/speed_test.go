package soak

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"countersign/signerd/internal/audit"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/ledger/sqlite"
)

// These benchmarks are for scripts/bench. They use the real disk and real time,
// and a chain on which everything lands at once.

// callers is how many confirm at a time.
const callers = 64

// quick is the transport of one node whose time is not counted.
type quick struct {
	*nodes
	spent atomic.Int64
}

func (q *quick) RoundTrip(r *http.Request) (*http.Response, error) {
	start := time.Now()
	defer func() { q.spent.Add(int64(time.Since(start))) }()
	return q.nodes.RoundTrip(r)
}

// bench is a signer with work to do.
type bench struct {
	*world
	b   *testing.B
	rpc *quick
}

func newBench(b *testing.B) *bench {
	b.Helper()
	s := newSoak(b)
	rules := rulesOf(b, 1<<50, 1<<60, 1<<60, 0)
	dir := b.TempDir()
	check(b, copyState(s.fresh, dir))
	chain := newBlockchain(s.key.PublicKey(), 1<<60)
	chain.atOnce = true
	w := &world{dir: dir, key: s.key, rules: rules, mustAnswer: 1, began: time.Now(), chain: chain}
	rpc := &quick{nodes: &nodes{chain: chain}}
	w.outside = rpc.nodes
	var err error
	w.run, err = openProcess(dir, rpc.nodes)
	check(b, err)
	w.run.transport = rpc
	rpc.nodes = w.run.nodes
	check(b, w.run.serve(s.key, rules, []string{"http://" + firstNode}, 1, w.read))
	b.Cleanup(w.stop)
	return &bench{world: w, b: b, rpc: rpc}
}

// proposeAll proposes payments, each of another amount.
func (w *bench) proposeAll(count int) []*order {
	for range count {
		w.propose(0, "a", "")
	}
	if len(w.orders) != count {
		w.b.Fatalf("%d of %d payments are proposed", len(w.orders), count)
	}
	return w.orders
}

func (w *bench) execute(o *order) {
	c := o.confirmed
	c.Transactions = [][]byte{w.transfer(o.units)}
	receipt, err := w.run.flow.Execute(context.Background(), c, func(flow.Progress) {})
	if err != nil || receipt.Outcome != flow.Landed {
		w.b.Errorf("%s, %v, %v", receipt.Outcome, receipt.Fault, err)
	}
}

// reportTimes reports the median and the slowest of a hundred.
func reportTimes(b *testing.B, times []time.Duration) {
	b.Helper()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2]), "p50-ns")
	b.ReportMetric(float64(times[len(times)*99/100]), "p99-ns")
}

// timed runs something for each of b.N, and takes the time of the node away.
func (w *bench) timed(do func(i int)) {
	var times []time.Duration
	w.b.ResetTimer()
	for i := range w.b.N {
		before, start := w.rpc.spent.Load(), time.Now()
		do(i)
		times = append(times, time.Since(start)-time.Duration(w.rpc.spent.Load()-before))
	}
	reportTimes(w.b, times)
}

// BenchmarkFloor is the least that a signature can cost: one durable commit of the
// ledger, one durable record of the audit log, one signature.
func BenchmarkFloor(b *testing.B) {
	dir := b.TempDir()
	check(b, createState(dir))
	store, err := sqlite.Open(b.Context(), ledgerFile(dir))
	check(b, err)
	b.Cleanup(func() { _ = store.Close() })
	log, err := audit.Open(auditFile(dir))
	check(b, err)
	b.Cleanup(func() { _ = log.Close() })
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	var times []time.Duration
	for i := range b.N {
		start := time.Now()
		check(b, store.SetAnchor(b.Context(), uint64(i), [32]byte{}))
		_, err := log.Append(b.Context(), audit.Record{Time: start, Kind: "reserved", Session: "s", Proposal: "p", Data: map[string]string{"position": "0"}})
		check(b, err)
		ed25519.Sign(key, make([]byte, 300))
		times = append(times, time.Since(start))
	}
	reportTimes(b, times)
}

func BenchmarkPropose(b *testing.B) {
	w := newBench(b)
	w.timed(func(int) { w.propose(0, "a", "") })
	if len(w.orders) != b.N {
		b.Fatalf("%d of %d payments are proposed", len(w.orders), b.N)
	}
}

func BenchmarkExecute(b *testing.B) {
	w := newBench(b)
	orders := w.proposeAll(b.N)
	w.timed(func(i int) { w.execute(orders[i]) })
}

// BenchmarkExecuteInParallel is what each takes where many confirm at once.
func BenchmarkExecuteInParallel(b *testing.B) {
	w := newBench(b)
	orders := w.proposeAll(b.N)
	b.ResetTimer()
	next := make(chan *order)
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for o := range next {
				w.execute(o)
			}
		})
	}
	for _, o := range orders {
		next <- o
	}
	close(next)
	group.Wait()
}
