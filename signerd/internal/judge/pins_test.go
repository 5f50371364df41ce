package judge_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"testing"

	"countersign/scripts/fixtures"
	"countersign/scripts/localnet"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
)

// codeOf is the account that holds the code of an upgradeable program.
func codeOf(t *testing.T, program solana.PublicKey) solana.PublicKey {
	t.Helper()
	address, _, err := solana.FindProgramAddress([][]byte{program[:]}, solana.UpgradeableLoader)
	if err != nil {
		t.Fatal(err)
	}
	return address
}

// TestPinnedProgramsMayNotChange: a program that was deployed again is not the
// one that the owner allowed. Kept by checkPins in Judge (judge/judge.go).
func TestPinnedProgramsMayNotChange(t *testing.T) {
	s := startScene(t)
	s.reset()
	program := solana.DFlowProgram
	at := codeOf(t, program)
	read := func() chain.Account {
		accounts, err := s.chain.Accounts(t.Context(), []solana.PublicKey{at})
		s.must(err)
		return accounts[at]
	}
	before := read()
	if before.Owner != solana.UpgradeableLoader {
		t.Fatalf("the chain keeps the program's code elsewhere: %+v", before.Owner)
	}
	slot := binary.LittleEndian.Uint64(before.Data[4:])
	hash := sha256.Sum256(bytes.TrimRight(fixtures.AMM, "\x00"))
	otherSlot, otherHash := slot+1, sha256.Sum256(nil)
	judged := func(pin chain.Pin) error {
		o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
		r := s.buying(o)
		r.Pins = map[solana.PublicKey]chain.Pin{program: pin, solana.JupiterV6Program: {LastDeploySlot: &otherSlot}}
		_, err := s.judge.Judge(t.Context(), o.raw, r)
		return err
	}
	for name, test := range map[string]struct {
		pin  chain.Pin
		says string
	}{
		"the slot":          {chain.Pin{LastDeploySlot: &slot}, ""},
		"the hash":          {chain.Pin{DataHash: &hash}, ""},
		"both":              {chain.Pin{LastDeploySlot: &slot, DataHash: &hash}, ""},
		"another slot":      {chain.Pin{LastDeploySlot: &otherSlot}, "deployed last in slot"},
		"another hash":      {chain.Pin{DataHash: &otherHash}, "another was pinned"},
		"one of two":        {chain.Pin{LastDeploySlot: &slot, DataHash: &otherHash}, "another was pinned"},
		"nothing is pinned": {chain.Pin{}, "neither a slot nor a hash"},
	} {
		t.Run(name, func(t *testing.T) {
			err := judged(test.pin)
			if test.says == "" && err != nil {
				t.Errorf("%v, and the program is as pinned", err)
			}
			if test.says != "" && (!fault.Is(err, fault.PolicyDenied) || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), chain.PinRule)) {
				t.Errorf("%v, want %s that says %q and names %s", err, fault.PolicyDenied, test.says, chain.PinRule)
			}
		})
	}
	t.Run("deployed again", func(t *testing.T) {
		s := s.in(t)
		after := read()
		after.Data = bytes.Clone(before.Data)
		binary.LittleEndian.PutUint64(after.Data[4:], slot+7)
		s.place(after)
		if err := judged(chain.Pin{LastDeploySlot: &slot}); !fault.Is(err, fault.PolicyDenied) {
			t.Errorf("the same code, deployed later: %v", err)
		}
		if err := judged(chain.Pin{DataHash: &hash}); err != nil {
			t.Errorf("the same code: %v", err)
		}
		// Other code at the same address, which does something else.
		s.must(s.net.AddProgram(t.Context(), program.String(), fixtures.Scriptable))
		if err := judged(chain.Pin{DataHash: &hash}); !fault.Is(err, fault.PolicyDenied) {
			t.Errorf("other code: %v", err)
		}
	})
}

// TestJudgeFloorIgnoresNodeThatHidesMoney: of two nodes the first hides what the
// wallet holds. The floor in the bytes is the honest one all the same. Kept by
// max in HighestBalance (chain/reads.go).
func TestJudgeFloorIgnoresNodeThatHidesMoney(t *testing.T) {
	s := startScene(t)
	s.reset()
	o := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	honest, err := s.judge.Judge(t.Context(), o.raw, s.buying(o))
	s.must(err)
	both := s.behind(s.net.RPCURL, s.net.RPCURL)
	lie := localnet.Fault{Method: "getBalance", Kind: localnet.LieBalance, Count: 1, Pubkey: wallet.String(), Lamports: startLamports / 2}
	s.must(s.net.Fault(t.Context(), lie))
	asked, err := s.net.Requests(t.Context(), "getBalance")
	s.must(err)
	judged, err := both.Judge(t.Context(), o.raw, s.buying(o))
	s.must(err)
	if now, err := s.net.Requests(t.Context(), "getBalance"); err != nil || now != asked+2 {
		t.Errorf("%d balances were asked, want one of each node (%v)", now-asked, err)
	}
	if judged.Tx().Digest() != honest.Tx().Digest() {
		t.Error("a node that hides money changed what is signed")
	}
}
