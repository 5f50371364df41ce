package chain

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"countersign/shared/fault"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
)

// PinRule is the name of the rule that a changed program breaks.
const PinRule = "programs.pin"

// Pin is a program as it was when the owner looked at it. At least one of the
// two is set.
type Pin struct {
	// LastDeploySlot is when an upgradeable program was deployed last.
	LastDeploySlot *uint64
	// DataHash is the SHA-256 of the program's code, without the zeros that
	// fill up its account.
	DataHash *[sha256.Size]byte
}

// What the upgradeable loader keeps (solana_loader_v3_interface::state): an
// account of the program that points to one with the code behind a header.
const (
	loaderProgram     = 2
	loaderProgramData = 3
	loaderProgramSize = 36
	loaderHeader      = 45
)

// CheckPins refuses programs that are not as they were pinned. Every node is
// asked: one that shows another program than the pinned one is
// enough to refuse, since a deployment that only some have seen is on its way.
func (c *Client) CheckPins(ctx context.Context, programs []solana.PublicKey, pins map[solana.PublicKey]Pin) error {
	for _, program := range programs {
		pin, pinned := pins[program]
		if !pinned {
			continue
		}
		if err := c.checkPin(ctx, program, pin); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) checkPin(ctx context.Context, program solana.PublicKey, pin Pin) error {
	if pin.LastDeploySlot == nil && pin.DataHash == nil {
		return changed(program, "the pin names neither a slot nor a hash")
	}
	shown, err := c.everywhere(ctx, program, nil)
	if err != nil {
		return err
	}
	for _, account := range shown {
		if account == nil || !account.Executable {
			return changed(program, "it is not deployed")
		}
		if account.Owner != solana.UpgradeableLoader {
			if err := pin.compare(program, nil, account.Data); err != nil {
				return err
			}
			continue
		}
		if err := c.checkUpgradeable(ctx, *account, pin); err != nil {
			return err
		}
	}
	return nil
}

// checkUpgradeable compares the account that holds the code of an upgradeable
// program. Where only the slot is pinned, the code is not fetched.
func (c *Client) checkUpgradeable(ctx context.Context, program Account, pin Pin) error {
	if len(program.Data) != loaderProgramSize || binary.LittleEndian.Uint32(program.Data) != loaderProgram {
		return changed(program.Key, "its account cannot be read")
	}
	var slice map[string]any
	if pin.DataHash == nil {
		slice = map[string]any{"offset": 0, "length": loaderHeader}
	}
	shown, err := c.everywhere(ctx, solana.PublicKey(program.Data[4:]), slice)
	if err != nil {
		return err
	}
	for _, account := range shown {
		if account == nil || account.Owner != solana.UpgradeableLoader || len(account.Data) < loaderHeader ||
			binary.LittleEndian.Uint32(account.Data) != loaderProgramData {
			return changed(program.Key, "the account of its code cannot be read")
		}
		slot := binary.LittleEndian.Uint64(account.Data[4:])
		if err := pin.compare(program.Key, &slot, account.Data[loaderHeader:]); err != nil {
			return err
		}
	}
	return nil
}

// compare holds what is deployed against the pin. deployed is nil for loaders
// that keep no slot.
func (p Pin) compare(program solana.PublicKey, deployed *uint64, code []byte) error {
	if want := p.LastDeploySlot; want != nil {
		switch {
		case deployed == nil:
			return changed(program, "its loader keeps no slot of deployment, so pin it by the hash of its code")
		case *deployed != *want:
			return changed(program, fmt.Sprintf("it was deployed last in slot %d, and pinned as of slot %d", *deployed, *want))
		}
	}
	if p.DataHash == nil {
		return nil
	}
	if got := sha256.Sum256(bytes.TrimRight(code, "\x00")); got != *p.DataHash {
		return changed(program, fmt.Sprintf("its code has the hash %s, and another was pinned", hex.EncodeToString(got[:])))
	}
	return nil
}

func changed(program solana.PublicKey, how string) error {
	return fault.New(fault.PolicyDenied, "program %s is not what the owner pinned: %s (%s)", program, how, PinRule)
}

// everywhere reads one account at every node that answers; nil where it does
// not exist.
func (c *Client) everywhere(ctx context.Context, key solana.PublicKey, slice map[string]any) ([]*Account, error) {
	keys := []solana.PublicKey{key}
	params := manyParams(keys)
	if slice != nil {
		params = []any{keys, map[string]any{"encoding": "base64", "commitment": confirmed, "dataSlice": slice}}
	}
	answers, err := askAll(ctx, c, methodMany, params, checkMany(keys))
	if err != nil {
		return nil, err
	}
	shown := make([]*Account, 0, len(answers))
	for _, answer := range answers {
		accounts, err := readAccounts(keys, answer.Value)
		if err != nil {
			return nil, jsonrpc.BadAnswer(methodMany, err)
		}
		if account, ok := accounts[key]; ok {
			shown = append(shown, &account)
		} else {
			shown = append(shown, nil)
		}
	}
	return shown, nil
}
