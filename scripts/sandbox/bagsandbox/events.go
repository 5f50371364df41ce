package bagsandbox

import (
	"context"
	"crypto/sha512"
	"math"
	"time"

	"github.com/gagliardetto/solana-go"
)

const pageLimit = 100

func eventParams() []param {
	seconds := isInteger(0, 1<<40)
	return []param{
		{name: "tokenMint", check: isAddress},
		{name: "mode", optional: true, check: isOneOf("offset", "time")},
		{name: "limit", optional: true, check: isInteger(1, pageLimit)},
		{name: "offset", optional: true, check: isInteger(0, math.MaxInt32)},
		{name: "from", optional: true, check: seconds},
		{name: "to", optional: true, check: seconds},
	}
}

// eventTime is when the first of the world's claims happened.
var eventTime = time.Date(2026, time.October, 1, 12, 0, 0, 0, time.UTC)

type claimEvent struct {
	Wallet    string `json:"wallet"`
	IsCreator bool   `json:"isCreator"`
	Amount    string `json:"amount"`
	Signature string `json:"signature"`
	// Timestamp is a number or an ISO text: the documentation has both.
	Timestamp any `json:"timestamp"`
	at        time.Time
}

func (s *Sandbox) claimEvents(_ context.Context, c call) (any, error) {
	known, err := s.launched(c.query)
	if err != nil {
		return nil, err
	}
	byTime := c.query["mode"] == "time"
	if err := onlyFor(c.query, byTime, "limit", "offset"); err != nil {
		return nil, err
	}
	if err := onlyFor(c.query, !byTime, "from", "to"); err != nil {
		return nil, err
	}
	events := s.events(known)
	if byTime {
		from, to := integer(c.query, "from", 0), integer(c.query, "to", math.MaxInt64)
		if from > to {
			return nil, badRequest("from must not be after to")
		}
		events = between(events, from, to)
	} else {
		offset := min(integer(c.query, "offset", 0), uint64(len(events)))
		events = events[offset:]
		events = events[:min(integer(c.query, "limit", pageLimit), uint64(len(events)))]
	}
	return map[string]any{"events": events}, nil
}

// onlyFor refuses parameters that belong to the other mode.
func onlyFor(query map[string]string, wrong bool, names ...string) error {
	for _, name := range names {
		if _, given := query[name]; given && wrong {
			return badRequest("%s does not go with this mode", name)
		}
	}
	return nil
}

func (s *Sandbox) events(known launch) []claimEvent {
	wallets := []solana.PublicKey{s.layout.Wallet, s.layout.Thief, s.layout.Wallet}
	events := []claimEvent{}
	for i, wallet := range wallets {
		at := eventTime.Add(time.Duration(i) * time.Hour)
		event := claimEvent{
			Wallet: wallet.String(), IsCreator: wallet == s.layout.Wallet, Amount: text(uint64(i+1) * 250_000_000),
			Signature: solana.Signature(sha512.Sum512([]byte(known.mint.Address.String() + at.String()))).String(),
			Timestamp: at.Unix(), at: at,
		}
		if i == 1 {
			event.Timestamp = at.Format(time.RFC3339)
		}
		events = append(events, event)
	}
	return events
}

func between(events []claimEvent, from, to uint64) []claimEvent {
	kept := []claimEvent{}
	for _, event := range events {
		if at := uint64(event.at.Unix()); at >= from && at <= to {
			kept = append(kept, event)
		}
	}
	return kept
}
