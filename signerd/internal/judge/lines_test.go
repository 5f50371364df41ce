package judge_test

import (
	"testing"

	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode/decodetest"
)

// Five lines carry most of what the judge promises. Each was deleted in a copy
// of the tree, and these tests failed without it:
//
//   - d.checkWritable in Read (effects/draft.go): TestOnlyExplainedAccountsCanChange
//     here, TestReadRefuses and TestReadRefusesCustodiansThatNameTheWallet in effects;
//   - the first instruction of suite (guard/guard.go): TestAppendWritesTheSuite,
//     TestRecogniseDemandsTheExactForm, TestUnitsCoverTheGuard in guard;
//   - effects.Read in append, and the comparison of next with plan in guard
//     (judge/guarding.go): TestJudgeJudgesAgainAfterInsertion,
//     TestJudgeHoldsForeignGuardsToThePlan; the second finish in Judge
//     (judge/judge.go): TestHonestSwapsPassGuardedAndLand;
//   - max in HighestBalance (chain/reads.go): TestJudgeFloorIgnoresNodeThatHidesMoney
//     here, TestHighestBalanceAsksEveryNode in chain;
//   - the refusal of AdvanceNonceAccount (decode/system.go): TestDurableNonceIsRefused
//     in effects, TestDecodeEveryOpcode in decode.

// TestOnlyExplainedAccountsCanChange: a program that is given another token
// account of the wallet is honest while it is watched, and empties it later. No
// guard asserts that account, since nothing in the transaction is about it.
func TestOnlyExplainedAccountsCanChange(t *testing.T) {
	s, _, thief := startAttack(t)
	token, flag := s.key(s.world.TokenMint), stranger(2)
	loot := stranger(3)
	s.place(held(loot, token, thief, 0))
	s.empty(flag)
	raw := s.unsigned(scripted(
		decodetest.W(s.tokenAccount()), decodetest.W(loot), decodetest.R(token), decodetest.R(solana.TokenProgram), decodetest.R(flag),
	).stopsUnless(flag).does(s.move(s.tokenAccount(), loot, startTokens)).call())
	s.refuses(raw, swapping(amount.SOL, 1), fault.TransactionRefused)

	s.raise(flag)
	s.robs(raw)
	if got := s.account(loot).Amount; got != startTokens {
		t.Errorf("the thief got %d of %d: this attack attacks nothing", got, startTokens)
	}
}
