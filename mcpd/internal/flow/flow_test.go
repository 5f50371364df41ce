package flow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"testing"
	"time"

	"countersign/mcpd/internal/bags"
	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/chain"
	"countersign/mcpd/internal/flow"
	"countersign/mcpd/internal/intent"
	"countersign/mcpd/internal/propose"
	"countersign/mcpd/internal/worldtest"
	"countersign/shared/fault"
)

func engine(t *testing.T, world *worldtest.World, own caps.Own, uids ...uint32) *flow.Engine {
	t.Helper()
	if len(uids) == 0 {
		uids = []uint32{uint32(os.Geteuid())}
	}
	signer, err := propose.New(world.Socket, uids)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = signer.Close() })
	node, err := chain.New(world.Node.URL)
	if err != nil {
		t.Fatal(err)
	}
	api, err := bags.New(world.Bags.URL, bags.NewKey(worldtest.APIKey), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return &flow.Engine{Signer: signer, Chain: node, Bags: api, Book: caps.NewBook(own), Logger: slog.New(slog.DiscardHandler)}
}

func swap(t *testing.T, confirm string) intent.Intent {
	t.Helper()
	meant, err := intent.ParseTrade(json.RawMessage(fmt.Sprintf(`{"input_mint":"SOL","output_mint":%q,"amount":"0.05","slippage_bps":300,"confirm":%q}`, worldtest.Token, confirm)))
	if err != nil {
		t.Fatal(err)
	}
	return meant
}

func TestSilenceIsUnknownAndTheReceiptComesLater(t *testing.T) {
	world := worldtest.New(t)
	world.Signer.Set(func(r *worldtest.Rules) { r.Hang = true })
	e := engine(t, world, caps.Own{PerSession: 60_000_000})
	e.ExecuteTimeout = 200 * time.Millisecond
	ctx := context.Background()
	proposed, err := e.Write(ctx, swap(t, ""), flow.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	code := proposed.Proposal.Code
	if _, err := e.Write(ctx, swap(t, code), flow.Caller{}); !fault.Is(err, fault.OutcomeUnknown) {
		t.Fatalf("error = %v, want outcome_unknown", err)
	}
	if e.Book.Used() < 50_000_000 {
		t.Error("an unknown outcome gave its hold back")
	}
	waiting, err := e.Write(ctx, swap(t, code), flow.Caller{})
	if err != nil || waiting.Receipt.Outcome != propose.InProgress {
		t.Fatalf("while it runs: %+v, %v", waiting.Receipt, err)
	}
	world.Signer.Resume()
	for range 200 {
		receipt, err := e.Signer.Receipt(ctx, propose.ReceiptKey{Code: code})
		if err != nil {
			t.Fatal(err)
		}
		if receipt.Outcome == propose.Landed {
			if world.Signer.Executions() != 1 {
				t.Errorf("executed %d times", world.Signer.Executions())
			}
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the receipt never came")
}

func TestOneCodeAtOnceExecutesOnce(t *testing.T) {
	world := worldtest.New(t)
	e := engine(t, world, caps.Own{})
	ctx := context.Background()
	proposed, err := e.Write(ctx, swap(t, ""), flow.Caller{})
	if err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() { _, _ = e.Write(ctx, swap(t, proposed.Proposal.Code), flow.Caller{}) })
	}
	group.Wait()
	if world.Signer.Executions() != 1 || world.Node.Lamports(worldtest.Wallet) != worldtest.StartLamports-50_000_000 {
		t.Errorf("executed %d times, wallet has %d", world.Signer.Executions(), world.Node.Lamports(worldtest.Wallet))
	}
}

func TestServerUnderAnotherAccountGetsNothing(t *testing.T) {
	world := worldtest.New(t)
	e := engine(t, world, caps.Own{}, uint32(os.Geteuid())+1)
	if _, err := e.Write(context.Background(), swap(t, ""), flow.Caller{}); !fault.Is(err, fault.SignerUnavailable) && !fault.Is(err, fault.PeerRejected) {
		t.Errorf("error = %v", err)
	}
	if len(world.Signer.Proposed()) != 0 || world.Requests() != 0 {
		t.Error("something was asked")
	}
}
