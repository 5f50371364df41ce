package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"countersign/scripts/mcpclient"
	"countersign/scripts/sandbox/bagsandbox"
	"countersign/scripts/stack"
)

// teller prints the story and counts what was checked.
type teller struct {
	out    io.Writer
	checks int
}

func (t *teller) chapter(title string) { fmt.Fprintf(t.out, "\n== %s\n", title) }

func (t *teller) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

// quote shows what a tool answered, indented.
func (t *teller) quote(text string) {
	for line := range strings.Lines(strings.TrimSpace(text)) {
		fmt.Fprintf(t.out, "   | %s\n", strings.TrimRight(line, "\n"))
	}
}

// check fails the demonstration if something that must hold does not.
func (t *teller) check(holds bool, format string, args ...any) error {
	t.checks++
	if !holds {
		return fmt.Errorf(format, args...)
	}
	t.say("   ✓ "+format, args...)
	return nil
}

// story is what the chapters share.
type story struct {
	*teller
	stack  *stack.Stack
	client *mcpclient.Client
	// swap are the arguments of the swap that the story is about.
	swap map[string]any
	code string
}

func tell(ctx context.Context, s *stack.Stack, t *teller) error {
	t.say("Local chain   %s (genesis %s)", s.Chain.RPCURL, s.Chain.GenesisHash)
	t.say("Bags sandbox  %s", s.Bags.URL())
	t.say("Wallet        %s, whose key only signerd has", s.Wallet)
	client, err := s.Connect(ctx, mcpclient.Modern)
	if err != nil {
		return err
	}
	st := &story{teller: t, stack: s, client: client, swap: map[string]any{
		"input_mint": s.World.WSOL, "output_mint": s.World.TokenMint, "amount": "0.05", "slippage_bps": 100,
	}}
	for _, chapter := range []func(context.Context) error{
		st.quoteFirst, st.propose, st.confirm, st.replay, st.otherAmount, st.overTheCap, st.hostile, st.claim, st.audit,
	} {
		if err := chapter(ctx); err != nil {
			return err
		}
	}
	return nil
}

// look is what the observer sees of the wallet.
func (s *story) look(ctx context.Context) (stack.View, error) {
	return s.stack.Observe(ctx, s.stack.World.TokenMint)
}

func (s *story) quoteFirst(ctx context.Context) error {
	s.chapter("A quote, which is only a look")
	result, err := s.client.Call(ctx, "bags_get_quote", s.swap)
	if err != nil {
		return err
	}
	s.quote(result.Text)
	return s.check(!result.IsError, "the quote is answered")
}

func (s *story) propose(ctx context.Context) error {
	s.chapter("The first call proposes")
	before, err := s.look(ctx)
	if err != nil {
		return err
	}
	proposed, err := stack.CallWrite(ctx, s.client, "bags_execute_trade", s.swap)
	if err != nil {
		return err
	}
	s.quote(proposed.Text)
	if err := s.check(proposed.Status == "preview" && proposed.Proposal.ConfirmationCode != "", "the answer is a preview with a confirmation code"); err != nil {
		return err
	}
	s.code = proposed.Proposal.ConfirmationCode
	after, err := s.look(ctx)
	if err != nil {
		return err
	}
	return s.check(before == after, "the observer sees no change on chain: %s", after)
}

func (s *story) confirm(ctx context.Context) error {
	s.chapter("The second call, with the code, executes")
	before, err := s.look(ctx)
	if err != nil {
		return err
	}
	done, err := stack.CallWrite(ctx, s.client, "bags_execute_trade", stack.With(s.swap, "confirm", s.code))
	if err != nil {
		return err
	}
	s.quote(done.Text)
	if err := s.check(!done.IsError && done.Receipt.Outcome == "landed", "the receipt says landed"); err != nil {
		return err
	}
	return s.agrees(ctx, before, done)
}

// agrees compares what the observer sees with what the result says, to the
// last base unit.
func (s *story) agrees(ctx context.Context, before stack.View, done stack.Write) error {
	after, err := s.look(ctx)
	if err != nil {
		return err
	}
	solOut, solIn, err := done.Told(s.stack.World.WSOL)
	if err != nil {
		return err
	}
	tokenOut, tokenIn, err := done.Told(s.stack.World.TokenMint)
	if err != nil {
		return err
	}
	s.say("   observer: before %s", before)
	s.say("   observer: after  %s", after)
	if err := s.check(after.Lamports+solOut == before.Lamports+solIn, "the wallet's SOL changed by exactly what the receipt says (-%d +%d lamports)", solOut, solIn); err != nil {
		return err
	}
	return s.check(after.Tokens+tokenOut == before.Tokens+tokenIn, "its tokens by exactly what the receipt says (-%d +%d base units)", tokenOut, tokenIn)
}

func (s *story) replay(ctx context.Context) error {
	s.chapter("The same code again")
	before, err := s.look(ctx)
	if err != nil {
		return err
	}
	again, err := stack.CallWrite(ctx, s.client, "bags_execute_trade", stack.With(s.swap, "confirm", s.code))
	if err != nil {
		return err
	}
	s.quote(again.Text)
	if err := s.check(again.Receipt.Replayed && again.Receipt.Outcome == "landed", "the stored receipt comes back, marked replayed"); err != nil {
		return err
	}
	return s.unchanged(ctx, before)
}

func (s *story) unchanged(ctx context.Context, before stack.View) error {
	after, err := s.look(ctx)
	if err != nil {
		return err
	}
	return s.check(before == after, "the observer sees no change")
}

func (s *story) otherAmount(ctx context.Context) error {
	s.chapter("The used code for another amount")
	before, err := s.look(ctx)
	if err != nil {
		return err
	}
	refused, err := stack.CallWrite(ctx, s.client, "bags_execute_trade", stack.With(stack.With(s.swap, "confirm", s.code), "amount", "0.06"))
	if err != nil {
		return err
	}
	s.quote(refused.Text)
	if err := s.check(refused.IsError && refused.Error.Class == "conflict", "it is refused"); err != nil {
		return err
	}
	return s.unchanged(ctx, before)
}

func (s *story) overTheCap(ctx context.Context) error {
	s.chapter("More than the cap for one transaction")
	before, err := s.look(ctx)
	if err != nil {
		return err
	}
	asked := len(s.stack.Bags.Requests())
	refused, err := stack.CallWrite(ctx, s.client, "bags_execute_trade", stack.With(s.swap, "amount", "0.5"))
	if err != nil {
		return err
	}
	s.quote(refused.Text)
	if err := s.check(refused.IsError && refused.Error.Code == "cap_exceeded", "it is refused"); err != nil {
		return err
	}
	if err := s.check(len(s.stack.Bags.Requests()) == asked, "the sandbox's log shows that it was never asked"); err != nil {
		return err
	}
	return s.unchanged(ctx, before)
}

func (s *story) hostile(ctx context.Context) error {
	s.chapter("The API turns hostile: its transaction takes more than it says")
	for _, mode := range []bagsandbox.Mode{bagsandbox.Skim, bagsandbox.Delegate, bagsandbox.ExtraTransfer} {
		before, err := s.look(ctx)
		if err != nil {
			return err
		}
		if err := s.stack.Bags.Misbehave(bagsandbox.Misbehaviour{Mode: mode, Param: 1_000_000}); err != nil {
			return err
		}
		refused, err := stack.CallWrite(ctx, s.client, "bags_execute_trade", s.swap)
		if err != nil {
			return err
		}
		s.say("\n   %s:", mode)
		s.quote(refused.Text)
		if err := s.check(refused.IsError && refused.Proposal.ConfirmationCode == "", "it is refused and no code is given"); err != nil {
			return err
		}
		if err := s.unchanged(ctx, before); err != nil {
			return err
		}
	}
	return nil
}

func (s *story) claim(ctx context.Context) error {
	s.chapter("A claim of creator fees, in two transactions under one confirmation")
	claim := map[string]any{"token_mints": []string{s.stack.World.TokenMint}}
	proposed, err := stack.CallWrite(ctx, s.client, "bags_claim_fees", claim)
	if err != nil {
		return err
	}
	s.quote(proposed.Text)
	if err := s.check(proposed.Status == "preview" && len(proposed.Proposal.Effects) == 2, "the proposal has two transactions"); err != nil {
		return err
	}
	before, err := s.look(ctx)
	if err != nil {
		return err
	}
	done, err := stack.CallWrite(ctx, s.client, "bags_claim_fees", stack.With(claim, "confirm", proposed.Proposal.ConfirmationCode))
	if err != nil {
		return err
	}
	s.quote(done.Text)
	if err := s.check(!done.IsError && done.Receipt.Outcome == "landed" && len(done.Receipt.Transactions) == 2, "both landed"); err != nil {
		return err
	}
	if err := s.agrees(ctx, before, done); err != nil {
		return err
	}
	after, err := s.look(ctx)
	if err != nil {
		return err
	}
	return s.check(after.Lamports > before.Lamports, "the wallet is richer by the claim")
}

func (s *story) audit(ctx context.Context) error {
	s.chapter("The audit log, checked from its file alone")
	out, err := s.stack.Signerd(ctx, "", "audit", "verify")
	if err != nil {
		return err
	}
	s.quote(out)
	if err := s.check(strings.Contains(out, "good"), "no record was changed, removed or reordered"); err != nil {
		return err
	}
	limits, err := s.stack.Signerd(ctx, "", "limits")
	if err != nil {
		return err
	}
	s.quote(limits)
	return nil
}
