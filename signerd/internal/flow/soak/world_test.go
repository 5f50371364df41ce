package soak

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"sync"
	"testing/synctest"
	"time"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/clock"
	"countersign/signerd/internal/custody"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/flow"
	"countersign/signerd/internal/policy"
)

// The caps of the policy, and what is paid: a few payments fill each.
const (
	perTransaction = 60_000_000
	perSession     = 150_000_000
	perDay         = 220_000_000
	perHour        = 6
	smallest       = 20_000_000
	step           = 9_000_000
)

var payee = solana.MustPublicKey("9hSR6S7WPtxmTojgo6GG3k4yDPecgJY292j7xrsUGWBu")

// order is a payment that was proposed.
type order struct {
	units     uint64
	session   string
	key       string
	id        string
	confirmed flow.Confirmed
	// end is the outcome that was told of it as final.
	end flow.Outcome
}

// world is a signer, a chain, and what an observer has seen of both.
type world struct {
	dir        string
	key        *custody.Signer
	rules      *policy.Policy
	chain      *blockchain
	outside    *nodes
	mustAnswer int
	run        *process

	began time.Time
	// ahead is by how much the clock was set so far; back is by how much it stands
	// back now. accepted is how much of ahead its owner takes for right.
	ahead, back, accepted time.Duration

	orders  []*order
	serial  uint64
	pending sync.WaitGroup
	mu      sync.Mutex // guards wrong, and the orders while confirmations run
	wrong   []string
	// crashes are how often the process was ended.
	crashes int
	// held is how many reservations the process had made when the clock went
	// wrong, or -1.
	held int
}

func (w *world) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, fmt.Sprintf(format, args...))
}

// read is the clock beside the count that nobody can set.
func (w *world) read() (clock.Reading, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return clock.Reading{Boot: "soak", Since: time.Since(w.began) - w.ahead, Wall: time.Now().Add(-w.back)}, nil
}

// clockWrong reports a clock by which nothing may be signed.
func (w *world) clockWrong() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return (w.ahead - w.accepted - w.back).Abs() > time.Minute
}

// since is how long ago something happened, by what is known of the time: a step
// ahead that nobody has accepted is none.
func (w *world) since(at time.Time) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Since(at) - (w.ahead - w.accepted)
}

func (w *world) start() {
	var err error
	if w.run, err = startProcess(w.dir, w.key, w.rules, w.outside, w.mustAnswer, w.read); err != nil {
		w.run = nil
		w.fail("the signer does not start: %v", err)
		return
	}
	w.held = -1
}

// stop ends the process and waits for who asked it for something.
func (w *world) stop() {
	if w.run == nil {
		return
	}
	w.outside = w.run.nodes
	if err := w.run.end(); err != nil {
		w.fail("the signer does not stop well: %v", err)
	}
	w.pending.Wait()
	w.run = nil
}

// transfer is the bytes of a payment, with a fresh blockhash.
func (w *world) transfer(units uint64) []byte {
	data := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint32(nil, 2), units)
	message := solana.Message{
		RequiredSignatures: 1, ReadonlyUnsigned: 1, Blockhash: w.chain.blockhash(),
		Keys:         []solana.PublicKey{w.key.PublicKey(), payee, solana.SystemProgram},
		Instructions: []solana.Instruction{{Program: 2, Accounts: []uint8{0, 1}, Data: data}},
	}
	return solana.Transaction{Signatures: make([]solana.Signature, 1), Message: message}.Marshal()
}

func (w *world) proposed(units uint64, session, key string) flow.Proposed {
	arguments, err := json.Marshal(map[string]string{
		"amount": amount.Units(units).Decimal(amount.SOLDecimals), "mint": solana.WrappedSOL.String(), "to": payee.String(),
	})
	if err != nil {
		panic(err) // Three texts can be written.
	}
	p := flow.Proposed{
		Session: session, Tool: "solana_transfer", Arguments: string(arguments), Flow: effects.Transfer, Key: key,
		Bounds: effects.Bounds{
			MaxOut: map[solana.PublicKey]amount.Units{amount.SOL: amount.Units(units)}, MaxFee: baseFee, Recipients: []solana.PublicKey{payee},
		},
		Transactions: [][]byte{w.transfer(units)},
	}
	p.Fingerprint = sha256.Sum256([]byte(p.Tool + "\x00" + p.Arguments))
	return p
}

// propose asks for a payment. No two are of the same amount, so that the chain
// tells them apart.
func (w *world) propose(size int, session, key string) {
	w.serial++
	units := smallest + uint64(size)*step + w.serial
	p := w.proposed(units, session, key)
	verdict, err := w.run.flow.Propose(context.Background(), p)
	if err != nil || verdict.Refused != nil || verdict.Earlier != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.orders = append(w.orders, &order{
		units: units, session: session, key: key, id: verdict.Proposal.ID,
		confirmed: flow.Confirmed{Session: session, Code: verdict.Code, Fingerprint: p.Fingerprint},
	})
}

// confirm uses a code, for the first time or again, and does not wait.
func (w *world) confirm(o *order) {
	c := o.confirmed
	c.Transactions = [][]byte{w.transfer(o.units)}
	run := w.run
	w.pending.Go(func() {
		receipt, err := run.flow.Execute(context.Background(), c, func(flow.Progress) {})
		if err == nil && !run.gate.isShut() { // Nobody hears what a dead process says.
			w.told(o, receipt.Outcome)
		}
	})
}

// repeat asks for a named action again.
func (w *world) repeat(o *order) {
	p := w.proposed(o.units, o.session, o.key)
	verdict, err := w.run.flow.Propose(context.Background(), p)
	switch {
	case err != nil || verdict.Refused != nil || w.run.gate.isShut():
	case verdict.Earlier != nil:
		w.told(o, verdict.Earlier.Outcome)
	case o.key != "" && verdict.Code != "":
		// It was not executed yet: its code is a new one, the old one is void.
		w.mu.Lock()
		w.orders = append(w.orders, &order{
			units: o.units, session: o.session, key: o.key, id: verdict.Proposal.ID,
			confirmed: flow.Confirmed{Session: o.session, Code: verdict.Code, Fingerprint: p.Fingerprint},
		})
		w.mu.Unlock()
	}
}

// told notes an outcome. A final one is never followed by another.
func (w *world) told(o *order, outcome flow.Outcome) {
	if outcome == flow.Unknown || outcome == flow.InProgress {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.end == "" {
		o.end = outcome
	}
	if o.end != outcome {
		w.wrong = append(w.wrong, fmt.Sprintf("payment %d is told as %s, and was %s before", o.units, outcome, o.end))
	}
}

// look reads the receipt of an order again.
func (w *world) look(o *order) {
	if receipt, err := w.run.flow.ReceiptByCode(context.Background(), o.confirmed.Code); err == nil && !receipt.FinishedAt.IsZero() && !w.run.gate.isShut() {
		w.told(o, receipt.Outcome)
	}
}

// check holds the chain against the caps and the ledger.
func (w *world) check() {
	synctest.Wait()
	if w.run != nil && w.run.gate.isShut() {
		w.crashes++
		w.stop()
		w.start()
	}
	if w.run == nil {
		return
	}
	landed := w.chain.observed()
	day := uint64(0)
	sessions, paid := make(map[string]uint64), make(map[uint64]int)
	for _, l := range landed {
		o := w.orderOf(l)
		if o == nil {
			w.fail("the chain has a payment that nobody proposed: %v", l)
			continue
		}
		if w.since(l.at) < 24*time.Hour {
			day += l.took()
		}
		sessions[o.session] += l.took()
		if l.failed {
			continue
		}
		if paid[o.units]++; paid[o.units] > 1 {
			w.fail("payment %d has landed %d times", o.units, paid[o.units])
		}
	}
	if day > perDay {
		w.fail("%d lamports have left in a day, and the cap is %d", day, perDay)
	}
	for session, took := range sessions {
		if took > perSession {
			w.fail("%d lamports have left in session %s, and the cap is %d", took, session, perSession)
		}
	}
	w.checkLedger(day, sessions)
	w.checkClock()
}

// orderOf finds the payment that a transaction is of.
func (w *world) orderOf(l landing) *order {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.orders {
		if l.units == o.units {
			return o
		}
	}
	return nil
}

// checkLedger: what has left in a window is counted, and no count is over a cap.
func (w *world) checkLedger(day uint64, sessions map[string]uint64) {
	for _, session := range []string{"a", "b"} {
		usage, err := w.run.ledger.Usage(context.Background(), session, time.Now())
		if err != nil {
			expected := w.run.gate.isShut() || w.clockWrong() && fault.Is(err, fault.StateLocked)
			if !expected {
				w.fail("the ledger cannot be read: %v", err)
			}
			return
		}
		inDay, inSession := usage.Day[amount.SOL], usage.Session[amount.SOL]
		if all := uint64(inDay.Used + inDay.Reserved); all > perDay || all < day {
			w.fail("the ledger has %d of the day, of which %d have left and the cap is %d", all, day, perDay)
		}
		if all := uint64(inSession.Used + inSession.Reserved); all > perSession || all < sessions[session] {
			w.fail("the ledger has %d of session %s, of which %d have left and the cap is %d", all, session, sessions[session], perSession)
		}
	}
}

// checkClock: by a clock that was set nothing is reserved.
func (w *world) checkClock() {
	w.run.gate.mu.Lock()
	made := w.run.gate.reserve
	w.run.gate.mu.Unlock()
	switch {
	case !w.clockWrong():
		w.held = -1
	case w.held < 0:
		w.held = made
	case made > w.held:
		w.fail("%d reservations were made by a clock that was set", made-w.held)
	}
}
