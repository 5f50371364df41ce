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

// LatestBlockhash is a fresh blockhash, at commitment confirmed.
func (c *Chain) LatestBlockhash(ctx context.Context) (string, error) {
	var answer struct {
		Value struct {
			Blockhash string `json:"blockhash"`
		} `json:"value"`
	}
	err := c.rpc.call(ctx, &answer, "getLatestBlockhash", map[string]string{"commitment": "confirmed"})
	return answer.Value.Blockhash, err
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

// Kinds of faults. The first five spoil any method, the others those they are
// about.
const (
	// Delay answers Ms later.
	Delay = "delay"
	// Hang never answers.
	Hang = "hang"
	// HTTP429 refuses, and asks to wait RetryAfterS.
	HTTP429 = "http_429"
	// HTTP500 refuses.
	HTTP500 = "http_500"
	// Garbage is an answer that breaks off.
	Garbage = "garbage"
	// Drop forgets a sent transaction and says that it went well.
	Drop = "drop"
	// LandFail lets a sent transaction land and answers with an error.
	LandFail = "land_then_error"
	// DelayLand lets a sent transaction land Slots later.
	DelayLand = "delay_land"
	// LieSimulation hides what a transaction would do.
	LieSimulation = "lie_simulation"
	// LieBalance says that Pubkey has Lamports.
	LieBalance = "lie_balance"
	// HideStatus denies knowing any transaction.
	HideStatus = "hide_status"
	// WrongGenesis names another chain.
	WrongGenesis = "wrong_genesis"
)

// Fault is a misbehaviour of the chain's RPC.
type Fault struct {
	// Method is whose calls are spoilt; those of all methods if empty.
	Method string `json:"method,omitempty"`
	Kind   string `json:"kind"`
	// Count is how many calls are spoilt, after Skip that are not; all until
	// ClearFaults if zero.
	Count       int `json:"count,omitempty"`
	Skip        int `json:"skip,omitempty"`
	Ms          int `json:"ms,omitempty"`
	Slots       int `json:"slots,omitempty"`
	RetryAfterS int `json:"retryAfterS,omitempty"`
	// Status is the HTTP status of LandFail; a JSON-RPC error if zero.
	Status   int    `json:"status,omitempty"`
	Pubkey   string `json:"pubkey,omitempty"`
	Lamports uint64 `json:"lamports,omitempty"`
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
