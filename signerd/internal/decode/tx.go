package decode

import (
	"bytes"
	"crypto/sha256"
	"slices"

	"countersign/shared/fault"
	"countersign/shared/solana"
)

// Tables holds the settled addresses of lookup tables.
type Tables map[solana.PublicKey][]solana.PublicKey

// Account is one account of a transaction with its role in the message.
type Account struct {
	Key      solana.PublicKey
	Signer   bool
	Writable bool
	// Looked is true for an account loaded through a lookup table.
	Looked bool
}

// Tx is a decoded transaction. Only Decode makes one that is not zero.
type Tx struct {
	parsed       Parsed
	wallet       solana.PublicKey
	slot         int
	accounts     []Account
	instructions []Instruction
	fee          Fee
	stamped      bool
}

// Decode resolves accounts and decodes every instruction, from the point of
// view of wallet. It fails for a transaction that it cannot explain in full.
func Decode(p Parsed, wallet solana.PublicKey, tables Tables) (Tx, error) {
	if p.raw == nil {
		return Tx{}, fault.New(fault.Internal, "a transaction was decoded before it was parsed")
	}
	accounts, err := resolve(p.tx.Message, tables)
	if err != nil {
		return Tx{}, err
	}
	slot, err := checkSignatures(p, wallet)
	if err != nil {
		return Tx{}, err
	}
	tx := Tx{parsed: p, wallet: wallet, slot: slot, accounts: accounts}
	tx.instructions = make([]Instruction, 0, len(p.tx.Message.Instructions))
	for i, compiled := range p.tx.Message.Instructions {
		instruction, err := decodeInstruction(i, compiled, accounts)
		if err != nil {
			return Tx{}, err
		}
		tx.instructions = append(tx.instructions, instruction)
	}
	if err := checkBudget(tx.instructions); err != nil && tx.Version() != solana.V1 {
		return Tx{}, fault.New(fault.TransactionRefused, "%v", err).Because(err)
	}
	if tx.fee, err = feeOf(tx); err != nil {
		return Tx{}, err
	}
	tx.stamped = true
	return tx, nil
}

// resolve lists all accounts in the order of the runtime: static keys, then
// the writable ones of all tables, then the read-only ones of all tables.
func resolve(message solana.Message, tables Tables) ([]Account, error) {
	accounts := make([]Account, 0, message.AccountCount())
	for _, key := range message.Keys {
		accounts = append(accounts, Account{Key: key})
	}
	for _, writable := range []bool{true, false} {
		for _, lookup := range message.Lookups {
			indexes := lookup.Readonly
			if writable {
				indexes = lookup.Writable
			}
			addresses := tables[lookup.Table]
			for _, index := range indexes {
				if int(index) >= len(addresses) {
					return nil, fault.New(fault.TransactionMalformed,
						"lookup table %s has no settled address number %d", lookup.Table, index)
				}
				accounts = append(accounts, Account{Key: addresses[index], Looked: true})
			}
		}
	}
	seen := make(map[solana.PublicKey]struct{}, len(accounts))
	for i := range accounts {
		if _, twice := seen[accounts[i].Key]; twice {
			return nil, fault.New(fault.TransactionMalformed, "account %s is loaded twice", accounts[i].Key)
		}
		seen[accounts[i].Key] = struct{}{}
		accounts[i].Signer = message.IsSigner(i)
		accounts[i].Writable = message.IsWritable(i)
	}
	return accounts, nil
}

// checkSignatures finds the wallet's empty slot and verifies the others: a
// required signature of somebody else that is missing now cannot be added
// after ours without trust in what they sign.
func checkSignatures(p Parsed, wallet solana.PublicKey) (int, error) {
	message := p.tx.Message
	slot := -1
	for i, signature := range p.tx.Signatures {
		signer := message.Keys[i]
		switch {
		case signer == wallet && !signature.IsZero():
			return 0, fault.New(fault.TransactionMalformed, "the wallet's signature slot is not empty")
		case signer == wallet:
			slot = i
		case signature.IsZero():
			return 0, fault.New(fault.TransactionMalformed, "the signature of %s, who must sign too, is missing", signer)
		case !signer.Verify(p.message, signature):
			return 0, fault.New(fault.TransactionMalformed, "the signature of %s does not match the transaction", signer)
		}
	}
	if slot < 0 {
		return 0, fault.New(fault.TransactionMalformed, "the transaction does not ask for the wallet's signature")
	}
	return slot, nil
}

// Stamped reports that Decode made this value.
func (t Tx) Stamped() bool { return t.stamped }

// Raw is a copy of the wire bytes.
func (t Tx) Raw() []byte { return bytes.Clone(t.parsed.raw) }

// MessageBytes is a copy of the bytes that signatures cover.
func (t Tx) MessageBytes() []byte { return bytes.Clone(t.parsed.message) }

// Digest is the SHA-256 of the message bytes.
func (t Tx) Digest() [32]byte { return sha256.Sum256(t.parsed.message) }

// Transaction is a copy of the wire form that shares no memory with t.
func (t Tx) Transaction() solana.Transaction {
	copied, err := solana.ParseTransaction(t.parsed.raw)
	if err != nil {
		return solana.Transaction{} // The zero Tx: there is nothing to copy.
	}
	return copied
}

// Version is the message format.
func (t Tx) Version() solana.Version { return t.parsed.tx.Message.Version }

// Wallet is the key from whose point of view the transaction was decoded.
func (t Tx) Wallet() solana.PublicKey { return t.wallet }

// WalletSlot is the index of the wallet's signature.
func (t Tx) WalletSlot() int { return t.slot }

// Blockhash is the recent blockhash in the bytes.
func (t Tx) Blockhash() solana.Hash { return t.parsed.Blockhash() }

// Accounts are all accounts, in the order that instructions index.
func (t Tx) Accounts() []Account { return slices.Clone(t.accounts) }

// Writable are the keys of the accounts that this transaction can change.
func (t Tx) Writable() []solana.PublicKey {
	keys := make([]solana.PublicKey, 0, len(t.accounts))
	for _, account := range t.accounts {
		if account.Writable {
			keys = append(keys, account.Key)
		}
	}
	return keys
}

// Writes reports whether this transaction can change an account.
func (t Tx) Writes(key solana.PublicKey) bool {
	return slices.ContainsFunc(t.accounts, func(a Account) bool { return a.Key == key && a.Writable })
}

// WalletWritable reports whether the wallet itself can be changed.
func (t Tx) WalletWritable() bool {
	return t.stamped && t.accounts[t.slot].Writable
}

// Instructions are the decoded instructions, in order.
func (t Tx) Instructions() []Instruction { return slices.Clone(t.instructions) }

// Fee is what the bytes promise the network.
func (t Tx) Fee() Fee { return t.fee }

// SoleSigner reports that no signature but the wallet's is needed, so that
// the message may still be extended.
func (t Tx) SoleSigner() bool { return len(t.parsed.tx.Signatures) == 1 }
