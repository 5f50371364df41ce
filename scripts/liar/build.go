package liar

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	lib "github.com/gagliardetto/solana-go"

	signerv1 "countersign/proto/signer/v1"
	"countersign/scripts/sandbox/world"
)

// people are the addresses of the world, by solana-go: the liar's view of the
// chain is not that of the code under attack.
type people struct {
	wallet, thief, token, token2022, wsol, sponsor, nonce, unknown lib.PublicKey
	// crony has a key and signs what names it.
	crony lib.PrivateKey
}

func peopleOf(w world.World) people {
	key := lib.MustPublicKeyFromBase58
	return people{
		wallet: key(w.Wallet), thief: key(w.Thief), token: key(w.TokenMint), token2022: key(w.Token2022Mint), wsol: key(w.WSOL),
		sponsor: key(w.Sponsor), nonce: key(w.Nonce), unknown: key(w.UnknownProgram),
		crony: lib.PrivateKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{0x77}, ed25519.SeedSize))),
	}
}

// Crony is an accomplice who needs lamports to exist.
func (l *Liar) Crony() string { return l.people.crony.PublicKey().String() }

func (p people) programOf(mint lib.PublicKey) lib.PublicKey {
	if mint == p.token2022 {
		return lib.Token2022ProgramID
	}
	return lib.TokenProgramID
}

func (p people) account(owner, mint lib.PublicKey) lib.PublicKey {
	program := p.programOf(mint)
	address, _, err := lib.FindProgramAddress([][]byte{owner[:], program[:], mint[:]}, lib.SPLAssociatedTokenAccountProgramID)
	if err != nil {
		panic(err) // Chance of 2^-256.
	}
	return address
}

// newcomer is an address that nobody has used.
func newcomer(r *rand.Rand) lib.PublicKey {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, r.Uint64()))
	return lib.PrivateKey(ed25519.NewKeyFromSeed(sum[:])).PublicKey()
}

func call(program lib.PublicKey, data []byte, accounts ...*lib.AccountMeta) lib.Instruction {
	return lib.NewInstruction(program, accounts, data)
}

func read(key lib.PublicKey) *lib.AccountMeta  { return lib.Meta(key) }
func write(key lib.PublicKey) *lib.AccountMeta { return lib.Meta(key).WRITE() }
func sign(key lib.PublicKey) *lib.AccountMeta  { return lib.Meta(key).WRITE().SIGNER() }

func u64(prefix []byte, n uint64) []byte { return binary.LittleEndian.AppendUint64(prefix, n) }

func transfer(from, to lib.PublicKey, lamports uint64) lib.Instruction {
	return call(lib.SystemProgramID, u64([]byte{2, 0, 0, 0}, lamports), sign(from), write(to))
}

func unitLimit(units uint32) lib.Instruction {
	return call(lib.ComputeBudget, binary.LittleEndian.AppendUint32([]byte{2}, units))
}

func unitPrice(price uint64) lib.Instruction { return call(lib.ComputeBudget, u64([]byte{3}, price)) }

func (p people) open(owner, mint lib.PublicKey) lib.Instruction {
	return call(lib.SPLAssociatedTokenAccountProgramID, []byte{1}, sign(p.wallet), write(p.account(owner, mint)), read(owner), read(mint),
		read(lib.SystemProgramID), read(p.programOf(mint)))
}

func (p people) send(mint, to lib.PublicKey, units uint64, decimals uint8) lib.Instruction {
	return call(p.programOf(mint), append(u64([]byte{12}, units), decimals), write(p.account(p.wallet, mint)), read(mint),
		write(p.account(to, mint)), sign(p.wallet))
}

// latest is a blockhash that the chain still takes.
func (l *Liar) latest(ctx context.Context) (lib.Hash, error) {
	text, err := l.Chain.LatestBlockhash(ctx)
	if err != nil {
		return lib.Hash{}, err
	}
	return lib.HashFromBase58(text)
}

// compile makes wire bytes with a fresh blockhash, signed by everybody but the
// wallet.
func (l *Liar) compile(ctx context.Context, payer lib.PublicKey, list ...lib.Instruction) ([]byte, error) {
	hash, err := l.latest(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := lib.NewTransaction(list, hash, lib.TransactionPayer(payer))
	if err != nil {
		return nil, err
	}
	crony := l.people.crony
	if _, err := tx.PartialSign(func(key lib.PublicKey) *lib.PrivateKey {
		if key == crony.PublicKey() {
			return &crony
		}
		return nil
	}); err != nil {
		return nil, err
	}
	return tx.MarshalBinary()
}

// assets writes amounts as the wire has them; SOL has no mint.
func assets(pairs ...any) []*signerv1.AssetAmount {
	var list []*signerv1.AssetAmount
	for pair := range slices.Chunk(pairs, 2) {
		amount := &signerv1.AssetAmount{Amount: pair[1].(uint64)}
		if mint := pair[0].(lib.PublicKey); mint != lib.WrappedSol {
			amount.Mint = mint.Bytes()
		}
		list = append(list, amount)
	}
	return list
}

// argue writes the arguments that fit an offer's bounds, so that no lie is
// refused for its arguments alone.
func (l *Liar) argue(o offer) offer {
	var arguments any
	mint := func(list []*signerv1.AssetAmount) (text string, amount string) {
		if len(list) == 0 {
			return l.World.WSOL, "1"
		}
		text = l.World.WSOL
		if raw := list[0].GetMint(); len(raw) == 32 {
			text = lib.PublicKeyFromBytes(raw).String()
		}
		return text, decimal(list[0].GetAmount(), l.decimals(text))
	}
	out, amount := mint(o.bounds.GetMaxOut())
	in, _ := mint(o.bounds.GetMinIn())
	switch o.flow {
	case signerv1.Flow_FLOW_SWAP:
		o.tool, arguments = "bags_execute_trade", map[string]any{"input_mint": out, "output_mint": in, "amount": amount, "slippage_bps": 100}
	case signerv1.Flow_FLOW_CLAIM:
		o.tool, arguments = "bags_claim_fees", map[string]any{"token_mints": []string{l.World.TokenMint}}
	case signerv1.Flow_FLOW_TRANSFER, signerv1.Flow_FLOW_UNSPECIFIED:
		fallthrough
	default:
		to := l.World.Thief
		if named := o.bounds.GetRecipients(); len(named) > 0 && len(named[0]) == 32 {
			to = lib.PublicKeyFromBytes(named[0]).String()
		}
		o.tool, arguments = "solana_transfer", map[string]any{"to": to, "mint": out, "amount": amount}
	}
	text, err := json.Marshal(arguments)
	if err != nil {
		panic(err) // Strings and a number.
	}
	o.arguments = string(text)
	return o
}

func (l *Liar) decimals(mint string) uint8 {
	switch mint {
	case l.World.TokenMint:
		return l.World.TokenDecimals
	case l.World.Token2022Mint:
		return l.World.Token2022Decimal
	}
	return 9
}

// decimal is base units in whole units, in the shortest form.
func decimal(units uint64, decimals uint8) string {
	text := strconv.FormatUint(units, 10)
	if pad := int(decimals) + 1 - len(text); pad > 0 {
		text = strings.Repeat("0", pad) + text
	}
	whole, fraction := text[:len(text)-int(decimals)], strings.TrimRight(text[len(text)-int(decimals):], "0")
	if fraction == "" {
		return whole
	}
	return fmt.Sprintf("%s.%s", whole, fraction)
}
