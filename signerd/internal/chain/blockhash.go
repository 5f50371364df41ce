package chain

import (
	"context"
	"errors"

	"countersign/shared/solana"
)

// LatestBlockhash is a blockhash that the network takes now. Nothing that is
// signed gets its blockhash from here: it is for looking at a copy of a
// transaction whose own has expired.
func (c *Client) LatestBlockhash(ctx context.Context) (solana.Hash, error) {
	type answer = contextual[*struct {
		Blockhash solana.Hash `json:"blockhash"`
	}]
	latest, err := ask(ctx, c, "getLatestBlockhash", []any{map[string]any{"commitment": confirmed}}, func(a answer) error {
		if a.Value == nil || a.Value.Blockhash.IsZero() {
			return errors.New("no blockhash in the answer")
		}
		_, err := a.slot()
		return err
	})
	if err != nil {
		return solana.Hash{}, err
	}
	return latest.Value.Blockhash, nil
}
