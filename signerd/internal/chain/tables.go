package chain

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"countersign/shared/fault"
	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
	"countersign/signerd/internal/decode"
)

// Layout of a lookup table account, from the program's state module.
const (
	tableHeader        = 56
	tableDiscriminator = 1
	neverDeactivated   = ^uint64(0)
	maxTableAddresses  = 256
)

// Tables reads the lookup tables that a message names, from every node that
// answers. Any that cannot be resolved, or that two nodes show differently, is
// a fault: an unread table could hide anybody.
func (c *Client) Tables(ctx context.Context, lookups []solana.Lookup) (decode.Tables, error) {
	keys := make([]solana.PublicKey, 0, len(lookups))
	for _, lookup := range lookups {
		keys = append(keys, lookup.Table)
	}
	if len(keys) > accountsPerCall {
		return nil, fault.New(fault.TransactionMalformed, "the transaction names more than %d lookup tables", accountsPerCall)
	}
	answers, err := askAll(ctx, c, methodMany, manyParams(keys), checkMany(keys))
	if err != nil {
		return nil, err
	}
	var agreed decode.Tables
	for _, answer := range answers {
		tables, err := readTables(keys, answer)
		if err != nil {
			return nil, err
		}
		if agreed, err = agree(agreed, tables); err != nil {
			return nil, err
		}
	}
	return agreed, nil
}

func readTables(keys []solana.PublicKey, answer manyAccounts) (decode.Tables, error) {
	accounts, err := readAccounts(keys, answer.Value)
	if err != nil {
		return nil, jsonrpc.BadAnswer(methodMany, err)
	}
	slot, _ := answer.slot() // checkMany has seen that it is there.
	tables := make(decode.Tables, len(keys))
	for _, key := range keys {
		account, ok := accounts[key]
		if !ok {
			return nil, fault.New(fault.TransactionMalformed, "lookup table %s does not exist", key)
		}
		addresses, err := parseTable(account, slot)
		if err != nil {
			return nil, fault.New(fault.TransactionMalformed, "lookup table %s cannot be used: %v", key, err).Because(err)
		}
		tables[key] = addresses
	}
	return tables, nil
}

// agree keeps what both show. Tables only grow, so a node that is behind shows
// the same addresses, and fewer of them.
func agree(agreed, tables decode.Tables) (decode.Tables, error) {
	if agreed == nil {
		return tables, nil
	}
	for key, addresses := range tables {
		both := min(len(addresses), len(agreed[key]))
		if !slices.Equal(addresses[:both], agreed[key][:both]) {
			return nil, fault.New(fault.RPCBadAnswer, "the RPC nodes disagree about lookup table %s", key)
		}
		agreed[key] = addresses[:both]
	}
	return agreed, nil
}

// parseTable returns the addresses that are settled: those of an extension
// made in this very slot, or later, cannot be loaded yet.
func parseTable(account Account, slot uint64) ([]solana.PublicKey, error) {
	data := account.Data
	switch {
	case account.Owner != solana.LookupTableProgram:
		return nil, errors.New("another program owns it")
	case len(data) < tableHeader || binary.LittleEndian.Uint32(data) != tableDiscriminator:
		return nil, errors.New("it is not a lookup table")
	case binary.LittleEndian.Uint64(data[4:]) != neverDeactivated:
		return nil, errors.New("it is being closed")
	case (len(data)-tableHeader)%32 != 0 || (len(data)-tableHeader)/32 > maxTableAddresses:
		return nil, errors.New("its length is wrong")
	}
	settled := (len(data) - tableHeader) / 32
	if extended := binary.LittleEndian.Uint64(data[12:]); extended >= slot {
		settled = min(settled, int(data[20]))
	}
	addresses := make([]solana.PublicKey, 0, settled)
	for i := range settled {
		addresses = append(addresses, solana.PublicKey(data[tableHeader+32*i:][:32]))
	}
	return addresses, nil
}
