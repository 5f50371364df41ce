package submit

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/binary"
	"testing"
	"time"

	"countersign/scripts/localnet"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
)

// liveChain is a real chain, and a client of it that shares nothing with the
// code under test.
type liveChain struct {
	*localnet.Chain
	t   *testing.T
	rpc *jsonrpc.Client
	key ed25519.PrivateKey
}

const funds = 1_000_000_000

func startChain(t *testing.T) liveChain {
	t.Helper()
	chain, err := localnet.Start(t.Context(), localnet.Options{SlotMS: 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(chain.Stop)
	rpc, err := jsonrpc.New(chain.RPCURL, jsonrpc.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	live := liveChain{chain, t, rpc, key}
	if err := chain.Airdrop(t.Context(), live.address().String(), funds); err != nil {
		t.Fatal(err)
	}
	for live.balance(live.address()) < funds {
		time.Sleep(10 * time.Millisecond)
	}
	return live
}

func (l liveChain) address() solana.PublicKey {
	return solana.PublicKey(l.key.Public().(ed25519.PublicKey))
}

func (l liveChain) balance(of solana.PublicKey) uint64 {
	l.t.Helper()
	var answer struct{ Value uint64 }
	if err := l.rpc.Call(l.t.Context(), "getBalance", []any{of.String(), map[string]string{"commitment": "confirmed"}}, &answer); err != nil {
		l.t.Fatal(err)
	}
	return answer.Value
}

// transfer is a signed transfer to a fresh account, with the last height at
// which it can land.
func (l liveChain) transfer(lamports uint64) (solana.Transaction, solana.PublicKey, uint64) {
	l.t.Helper()
	var latest struct {
		Value struct {
			Blockhash            solana.Hash `json:"blockhash"`
			LastValidBlockHeight uint64      `json:"lastValidBlockHeight"`
		}
	}
	if err := l.rpc.Call(l.t.Context(), "getLatestBlockhash", []any{map[string]string{"commitment": "confirmed"}}, &latest); err != nil {
		l.t.Fatal(err)
	}
	var to solana.PublicKey
	rand.Read(to[:])
	message := solana.Message{
		RequiredSignatures: 1, ReadonlyUnsigned: 1, Blockhash: latest.Value.Blockhash,
		Keys: []solana.PublicKey{l.address(), to, solana.SystemProgram},
		Instructions: []solana.Instruction{{
			Program: 2, Accounts: []uint8{0, 1}, Data: binary.LittleEndian.AppendUint64([]byte{2, 0, 0, 0}, lamports),
		}},
	}
	signature := solana.Signature(ed25519.Sign(l.key, message.Marshal()))
	return solana.Transaction{Signatures: []solana.Signature{signature}, Message: message}, to, latest.Value.LastValidBlockHeight
}

// TestTellTruthOnRealChain has a chain misbehave in each way that it can, and
// compares what is told with what the accounts then hold.
func TestTellTruthOnRealChain(t *testing.T) {
	const sum = 5_000_000
	expire := func(l liveChain) error { return l.Advance(l.t.Context(), 250) }
	for name, test := range map[string]struct {
		faults   []localnet.Fault
		lamports uint64
		// after happens while the transaction is under way.
		after   func(liveChain) error
		want    Outcome
		fault   fault.Code
		arrives bool
	}{
		"honest":              {nil, sum, nil, Landed, "", true},
		"dropped once":        {[]localnet.Fault{{Method: "sendTransaction", Kind: localnet.Drop, Count: 1}}, sum, nil, Landed, "", true},
		"dropped for ever":    {[]localnet.Fault{{Method: "sendTransaction", Kind: localnet.Drop}}, sum, expire, Expired, fault.ProvenExpired, false},
		"answer lost":         {[]localnet.Fault{{Method: "sendTransaction", Kind: localnet.LandFail, Count: 1}}, sum, nil, Landed, "", true},
		"answer lost as 503":  {[]localnet.Fault{{Method: "sendTransaction", Kind: localnet.LandFail, Count: 1, Status: 503}}, sum, nil, Landed, "", true},
		"lands late":          {[]localnet.Fault{{Method: "sendTransaction", Kind: localnet.DelayLand, Count: 1, Slots: 20}}, sum, nil, Landed, "", true},
		"status hidden":       {[]localnet.Fault{{Method: "getSignatureStatuses", Kind: localnet.HideStatus, Count: 5}}, sum, nil, Landed, "", true},
		"status hidden later": {[]localnet.Fault{{Method: "getSignatureStatuses", Kind: localnet.HideStatus}}, sum, expire, Landed, "", true},
		"busy":                {[]localnet.Fault{{Method: "sendTransaction", Kind: localnet.HTTP429, Count: 1, RetryAfterS: 1}}, sum, nil, Landed, "", true},
		"down for a moment":   {[]localnet.Fault{{Method: "sendTransaction", Kind: localnet.HTTP500, Count: 2}}, sum, nil, Landed, "", true},
		"garbage":             {[]localnet.Fault{{Method: "sendTransaction", Kind: localnet.Garbage, Count: 1}}, sum, nil, Landed, "", true},
		"too little SOL":      {nil, 2 * funds, nil, Unknown, fault.OutcomeUnknown, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := startChain(t)
			tx, to, lastValid := l.transfer(test.lamports)
			for _, f := range test.faults {
				if err := l.Fault(t.Context(), f); err != nil {
					t.Fatal(err)
				}
			}
			s, err := New([]string{l.RPCURL}, Options{Timeout: 2 * time.Second, Interval: 100 * time.Millisecond})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
			defer cancel()
			got := s.submit(ctx, tx.Marshal(), tx.ID(), lastValid, func(string) {
				if test.after != nil {
					if err := test.after(l); err != nil {
						t.Error(err)
					}
				}
			})
			expect(t, got, test.want, test.fault)
			arrived, left := l.balance(to), funds-l.balance(l.address())
			if want := map[bool]uint64{true: test.lamports}[test.arrives]; arrived != want {
				t.Errorf("%d lamports arrived, want %d", arrived, want)
			}
			if test.want != Landed {
				if left != 0 {
					t.Errorf("%d lamports left the wallet and nothing was to land", left)
				}
				return
			}
			if len(got.Changes) != 1 || got.Changes[0] != (Change{Mint: amount.SOL, Decimals: amount.SOLDecimals, Out: amount.Units(left)}) {
				t.Errorf("told of %+v and fee %d, and %d lamports left", got.Changes, got.Fee, left)
			}
			if uint64(got.Fee)+arrived != left {
				t.Errorf("fee %d and %d arrived do not make the %d that left", got.Fee, arrived, left)
			}
		})
	}
}
