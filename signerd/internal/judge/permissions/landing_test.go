package permissions

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"time"

	"countersign/scripts/observer"
	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain/chaintest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/judge"
)

// lands signs what was allowed, sends it, and holds what the chain did against
// what the effects said.
func (s *scene) lands(tried trial, judged judge.Judged) {
	s.t.Helper()
	tx := judged.Tx().Transaction()
	sign(&tx, map[solana.PublicKey]ed25519.PrivateKey{wallet: walletKey})
	var watched []string
	for _, account := range judged.Tx().Accounts() {
		if account.Writable {
			s.dirty[account.Key] = true
			watched = append(watched, account.Key.String())
		}
	}
	before, err := s.eye.Snapshot(s.context(), watched...)
	s.must(err)
	if failure := s.send(tx.Marshal()); failure != "" {
		s.t.Errorf("%s: allowed, and fails on chain: %s", tried, failure)
		s.restore()
		return
	}
	after, err := s.eye.Snapshot(s.context(), watched...)
	s.must(err)
	s.compare(tried, judged.Effects(), before, after)
	s.restore()
}

// send sends without preflight and returns the transaction's error, empty if
// it landed.
func (s *scene) send(raw []byte) string {
	s.t.Helper()
	var signature string
	s.must(s.rpc.Call(s.context(), "sendTransaction", []any{
		base64.StdEncoding.EncodeToString(raw), map[string]any{"encoding": "base64", "skipPreflight": true},
	}, &signature))
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		var answer struct {
			Value []*struct {
				Err    json.RawMessage `json:"err"`
				Status string          `json:"confirmationStatus"`
			} `json:"value"`
		}
		s.must(s.rpc.Call(s.context(), "getSignatureStatuses", []any{[]string{signature}}, &answer))
		if status := answer.Value[0]; status != nil && status.Status != "processed" {
			if string(status.Err) == "null" {
				return ""
			}
			return string(status.Err)
		}
	}
	return "not confirmed"
}

// compare computes from the two snapshots what the wallet lost and won, and
// what others got, and demands that the effects said just that.
func (s *scene) compare(tried trial, found effects.Effects, before, after observer.Snapshot) {
	s.t.Helper()
	told := make(map[solana.PublicKey]amount.Units)
	for _, change := range found.Changes() {
		told[change.Mint] = change.In - change.Out // wraps around, as net does
	}
	seen := net(before, after)
	// Fees, tips and rent stand apart in the effects; so does rent that comes
	// back from an account that was there before.
	seen[amount.SOL] += found.BaseFee() + found.PriorityFee() + found.Tip() + found.Rent() - found.RentReturned()
	seen[amount.SOL] -= reclaimed(before, after)
	for mint := range merged(told, seen) {
		if told[mint] != seen[mint] {
			s.t.Errorf("%s: of %s the effects say %d, the chain %d", tried, mint, int64(told[mint]), int64(seen[mint]))
		}
	}
	paid := make(map[solana.PublicKey]amount.Units)
	for _, payment := range found.Payments() {
		if payment.Recipient != friend {
			s.t.Errorf("%s: a payment to %s", tried, payment.Recipient)
		}
		paid[payment.Mint] += payment.Amount
	}
	for mint := range paid {
		if got := received(before, after, mint) - s.presents(tried, mint); got != paid[mint] {
			s.t.Errorf("%s: of %s the effects say that the payee gets %d, the chain says %d", tried, mint, paid[mint], got)
		}
	}
}

// presents are what the instruction itself gives the payee from somebody else.
func (s *scene) presents(tried trial, mint solana.PublicKey) amount.Units {
	if mint != amount.SOL || tried.role != none || tried.instruction.program == solana.AssociatedTokenProgram {
		return 0
	}
	switch {
	case tried.instruction.title() == "Transfer":
		if tried.instruction.program == solana.SystemProgram {
			return units
		}
	case tried.instruction.title() == "CloseAccount":
		return emptyLamports(tried.instruction.program)
	}
	return 0
}

func emptyLamports(program solana.PublicKey) amount.Units {
	for _, account := range purseOf(program).accounts() {
		if account.Key == purseOf(program).otherEmpty {
			return account.Lamports
		}
	}
	return chaintest.Rent
}

// net is what the wallet has more of afterwards, by asset; what it has less of
// wraps around.
func net(before, after observer.Snapshot) map[solana.PublicKey]amount.Units {
	return merge(holdings(after), holdings(before), func(a, b amount.Units) amount.Units { return a - b })
}

// holdings sums up what is the wallet's; wrapped SOL is SOL.
func holdings(seen observer.Snapshot) map[solana.PublicKey]amount.Units {
	total := make(map[solana.PublicKey]amount.Units)
	for address, account := range seen {
		if address == wallet.String() {
			total[amount.SOL] += amount.Units(account.Lamports)
			continue
		}
		token, err := observer.ParseTokenAccount(account)
		if err == nil && token.Owner == wallet.String() {
			total[assetOf(token.Mint)] += amount.Units(token.Amount)
		}
	}
	return total
}

func assetOf(mint string) solana.PublicKey {
	key := solana.MustPublicKey(mint)
	if key == solana.WrappedSOL {
		return amount.SOL
	}
	return key
}

// reclaimed is the rent of token accounts of the wallet that are gone.
func reclaimed(before, after observer.Snapshot) amount.Units {
	var total amount.Units
	for address, account := range before {
		token, err := observer.ParseTokenAccount(account)
		if _, still := after[address]; err != nil || still || token.Owner != wallet.String() {
			continue
		}
		total += amount.Units(account.Lamports)
	}
	return total
}

// received is what the payee has more of, with the fee that the token itself
// withholds from what arrives.
func received(before, after observer.Snapshot, mint solana.PublicKey) amount.Units {
	if mint == amount.SOL {
		return amount.Units(after[friend.String()].Lamports - before[friend.String()].Lamports)
	}
	has := func(seen observer.Snapshot) (total amount.Units) {
		for _, account := range seen {
			token, err := observer.ParseTokenAccount(account)
			if err == nil && token.Owner == friend.String() && token.Mint == mint.String() {
				total += amount.Units(token.Amount + withheld(account.Data))
			}
		}
		return total
	}
	return has(after) - has(before)
}

// withheld reads the transfer-fee extension of a token account.
func withheld(data []byte) uint64 {
	const firstExtension = 166
	for at := firstExtension; at+4 <= len(data); {
		kind, length := binary.LittleEndian.Uint16(data[at:]), int(binary.LittleEndian.Uint16(data[at+2:]))
		if kind == extTransferFeeAmount && at+12 <= len(data) {
			return binary.LittleEndian.Uint64(data[at+4:])
		}
		at += 4 + length
	}
	return 0
}

func merge(a, b map[solana.PublicKey]amount.Units, with func(a, b amount.Units) amount.Units) map[solana.PublicKey]amount.Units {
	out := make(map[solana.PublicKey]amount.Units)
	for key := range merged(a, b) {
		out[key] = with(a[key], b[key])
	}
	return out
}

func merged(a, b map[solana.PublicKey]amount.Units) map[solana.PublicKey]bool {
	keys := make(map[solana.PublicKey]bool)
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	return keys
}
