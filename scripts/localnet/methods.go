package localnet

import (
	"context"
	"encoding/base64"

	"countersign/scripts/fixtures"
)

// Airdrop gives an account lamports, in a transaction of its own.
func (c *Chain) Airdrop(ctx context.Context, pubkey string, lamports uint64) error {
	return c.rpc.call(ctx, nil, "devchain_airdrop", pubkey, lamports)
}

// Advance lets slots pass.
func (c *Chain) Advance(ctx context.Context, slots int) error {
	return c.rpc.call(ctx, nil, "devchain_advance", map[string]int{"slots": slots})
}

// ExpireBlockhash makes every blockhash handed out so far invalid.
func (c *Chain) ExpireBlockhash(ctx context.Context) error {
	return c.rpc.call(ctx, nil, "devchain_expireBlockhash")
}

// Account is what stands at an address.
type Account struct {
	Lamports   uint64
	Owner      string
	Data       []byte
	Executable bool
}

// SetAccount puts an account in place, whatever stood there before. Without
// lamports there is none afterwards.
func (c *Chain) SetAccount(ctx context.Context, pubkey string, account Account) error {
	return c.rpc.call(ctx, nil, "devchain_setAccount", pubkey, struct {
		Lamports   uint64 `json:"lamports"`
		Owner      string `json:"owner"`
		Data       string `json:"data"`
		Executable bool   `json:"executable"`
	}{account.Lamports, account.Owner, base64.StdEncoding.EncodeToString(account.Data), account.Executable})
}

// AddProgram installs a program.
func (c *Chain) AddProgram(ctx context.Context, programID string, elf []byte) error {
	return c.rpc.call(ctx, nil, "devchain_addProgram", programID, base64.StdEncoding.EncodeToString(elf))
}

// AddFixtures installs the programs of package fixtures.
func AddFixtures(ctx context.Context, c *Chain) error {
	for _, program := range []struct {
		id  string
		elf []byte
	}{
		{fixtures.AMMProgramID, fixtures.AMM},
		{fixtures.FeeShareProgramID, fixtures.FeeShare},
		{fixtures.ScriptableProgramID, fixtures.Scriptable},
	} {
		if err := c.AddProgram(ctx, program.id, program.elf); err != nil {
			return err
		}
	}
	return nil
}

// Fault is a misbehaviour of the chain's RPC for the next calls of a method.
// README.md of scripts/devchain lists the kinds and which fields each reads.
type Fault struct {
	Method string `json:"method"`
	Kind   string `json:"kind"`
	// Count is how many calls it spoils.
	Count       int    `json:"count,omitempty"`
	Ms          int    `json:"ms,omitempty"`
	Slots       int    `json:"slots,omitempty"`
	RetryAfterS int    `json:"retryAfterS,omitempty"`
	Pubkey      string `json:"pubkey,omitempty"`
	Lamports    uint64 `json:"lamports,omitempty"`
}

// Fault makes the chain misbehave.
func (c *Chain) Fault(ctx context.Context, fault Fault) error {
	return c.rpc.call(ctx, nil, "devchain_fault", fault)
}

// ClearFaults makes it behave again.
func (c *Chain) ClearFaults(ctx context.Context) error {
	return c.rpc.call(ctx, nil, "devchain_clearFaults")
}

// Requests is how often a method was called since the chain started.
func (c *Chain) Requests(ctx context.Context, method string) (int, error) {
	var count int
	err := c.rpc.call(ctx, &count, "devchain_requests", map[string]string{"method": method})
	return count, err
}
