package permissions

import (
	"encoding/binary"
	"maps"
	"slices"
	"strings"

	"countersign/shared/solana"
	"countersign/signerd/internal/decode/decodetest"
)

// The catalogue says, from the programs' own interfaces and not from the
// decoder, which accounts and arguments each instruction has, and in which
// roles the wallet can stand behind them.

// Roles that the wallet can play in an instruction. Two joined by a plus are
// played at once.
const (
	payer       = "payer"       // its lamports open the account, or pay the network
	signer      = "signer"      // signs, and has no other part
	authority   = "authority"   // may by somebody's leave: a mint, a table, a nonce, a close authority
	owner       = "owner"       // owns the account and signs for it
	delegate    = "delegate"    // signs for somebody else's account
	source      = "source"      // it is the wallet's account that gives; for tokens, somebody else signs
	destination = "destination" // what is given arrives at the wallet
	none        = "none"        // pays the network fee and has no part
)

var roleOrder = []string{
	payer, signer, authority, owner, delegate, source, destination,
	payer + "+" + owner, source + "+" + destination, owner + "+" + destination, none,
}

// seat is an account of an instruction, or an address in its data.
type seat struct {
	// ours stands here where the wallet plays one of the roles, theirs where not.
	ours, theirs    solana.PublicKey
	signs, writable bool
	roles           []string
	// special stands here in one role.
	special map[string]solana.PublicKey
	// multisigCanStand says that a multisig may stand here, whose signers follow.
	multisigCanStand bool
}

func (s seat) key(role string) solana.PublicKey {
	if key, ok := s.special[role]; ok {
		return key
	}
	for played := range strings.SplitSeq(role, "+") {
		if slices.Contains(s.roles, played) {
			return s.ours
		}
	}
	return s.theirs
}

// at makes a seat: rights are "s" for signs and "w" for writable.
func at(ours, theirs solana.PublicKey, rights string, roles ...string) seat {
	return seat{
		ours: ours, theirs: theirs, roles: roles,
		signs: strings.Contains(rights, "s"), writable: strings.Contains(rights, "w"),
	}
}

// when puts another account here for one role.
func (s seat) when(role string, key solana.PublicKey) seat {
	s.special = maps.Clone(s.special)
	if s.special == nil {
		s.special = make(map[string]solana.PublicKey)
	}
	s.special[role] = key
	return s
}

// fixed is an account that is always the same.
func fixed(key solana.PublicKey, rights string) seat { return at(key, key, rights) }

// instruction is one instruction, or one way to use it.
type instruction struct {
	program solana.PublicKey
	tag     uint32
	name    string
	// way tells uses of the same instruction apart.
	way   string
	data  []any // bytes, or a seat for an address
	seats []seat
	// also are combinations of roles; pays is what leaves in which roles.
	also []string
	pays *payment
	// network says that it is about the network fee, whoever pays that.
	network bool
	// unlisted instructions are in no table of the decoder.
	unlisted bool
}

// payment is what an instruction pays to the friend.
type payment struct {
	mint  solana.PublicKey
	units uint64
	as    string
}

func (i instruction) title() string {
	if i.way == "" {
		return i.name
	}
	return i.name + " " + i.way
}

// roles lists what the wallet can be here, in the order of the document.
func (i instruction) roles() []string {
	played := map[string]bool{none: true}
	if i.network {
		played[payer] = true
	}
	for _, each := range append(slices.Clone(i.seats), i.named()...) {
		for _, role := range each.roles {
			played[role] = true
		}
		if each.multisigCanStand {
			played[signer] = true
		}
	}
	for _, role := range i.also {
		played[role] = true
	}
	return slices.DeleteFunc(slices.Clone(roleOrder), func(role string) bool { return !played[role] })
}

// named are the addresses in the data.
func (i instruction) named() []seat {
	var list []seat
	for _, part := range i.data {
		if s, ok := part.(seat); ok {
			list = append(list, s)
		}
	}
	return list
}

// call builds the instruction with the wallet in a role.
func (i instruction) call(role string) decodetest.Call {
	call := decodetest.Call{Program: i.program}
	for _, part := range i.data {
		switch part := part.(type) {
		case []byte:
			call.Data = append(call.Data, part...)
		case seat:
			key := part.key(role)
			call.Data = append(call.Data, key[:]...)
		}
	}
	for _, each := range i.seats {
		meta := decodetest.Meta{Key: each.key(role), Signer: each.signs, Writable: each.writable}
		if each.multisigCanStand && role == signer {
			meta.Key, meta.Signer = shared, false
		}
		call.Accounts = append(call.Accounts, meta)
	}
	if role == signer && slices.ContainsFunc(i.seats, func(s seat) bool { return s.multisigCanStand }) {
		call.Accounts = append(call.Accounts, decodetest.S(wallet))
	}
	return call
}

func word(tag uint32) []byte { return binary.LittleEndian.AppendUint32(nil, tag) }

func u64(n uint64) []byte { return binary.LittleEndian.AppendUint64(nil, n) }

func u32(n uint32) []byte { return binary.LittleEndian.AppendUint32(nil, n) }

// seed is a seed string with its length.
func seed() []byte { return append(u64(4), "seed"...) }

// units is what instructions of the matrix move.
const units = 77

// catalogue is everything.
func catalogue() []instruction {
	return slices.Concat(
		systemCatalogue(), tokenCatalogue(solana.TokenProgram), tokenCatalogue(solana.Token2022Program),
		extensionCatalogue(), associatedCatalogue(), budgetCatalogue(), memoCatalogue(), tableCatalogue(),
	)
}

func systemCatalogue() []instruction {
	// Who is there, and what they hold.
	from := at(wallet, other, "sw", source)
	fresh := fixed(fresh, "sw")
	nonceAt := at(walletNonce, otherNonce, "w", authority)
	nonceAuthority := at(wallet, other, "s", authority)
	newOwner := at(wallet, other, "", owner)
	recent, rent := fixed(recentBlockhashes, ""), fixed(rentSysvar, "")
	to := at(wallet, friend, "w", destination)
	list := []instruction{
		{tag: 0, name: "CreateAccount", data: []any{u64(1_000_000), u64(0), newOwner}, seats: []seat{at(wallet, other, "sw", payer), fresh}},
		{tag: 1, name: "Assign", data: []any{at(other, other, "", owner)}, seats: []seat{at(wallet, other, "sw", owner)}},
		{tag: 2, name: "Transfer", data: []any{u64(units)}, seats: []seat{from, to}, also: []string{source + "+" + destination}, pays: &payment{units: units, as: source}},
		{tag: 2, name: "Transfer", way: "to a wrapped-SOL account", data: []any{u64(units)}, seats: []seat{from, at(spl.wrapped, spl.otherWrapped, "w", destination)}, also: []string{source + "+" + destination}},
		{tag: 3, name: "CreateAccountWithSeed", data: []any{at(wallet, other, "", owner), seed(), u64(1_000_000), u64(0), newOwner}, seats: []seat{at(wallet, other, "sw", payer), at(walletDerived, otherDerived, "w", owner), at(wallet, other, "s", owner)}},
		{tag: 4, name: "AdvanceNonceAccount", seats: []seat{nonceAt, recent, nonceAuthority}},
		{tag: 5, name: "WithdrawNonceAccount", data: []any{u64(units)}, seats: []seat{nonceAt, to, recent, rent, nonceAuthority}},
		{tag: 6, name: "InitializeNonceAccount", data: []any{at(wallet, other, "", authority)}, seats: []seat{at(wallet, otherNonce, "w", owner), recent, rent}},
		{tag: 7, name: "AuthorizeNonceAccount", data: []any{at(wallet, other, "", destination)}, seats: []seat{nonceAt, nonceAuthority}},
		{tag: 8, name: "Allocate", data: []any{u64(80)}, seats: []seat{at(wallet, other, "sw", owner)}},
		{tag: 9, name: "AllocateWithSeed", data: []any{at(wallet, other, "", owner), seed(), u64(80), other[:]}, seats: []seat{at(walletDerived, otherDerived, "w", owner), at(wallet, other, "s", owner)}},
		{tag: 10, name: "AssignWithSeed", data: []any{at(wallet, other, "", owner), seed(), other[:]}, seats: []seat{at(walletDerived, otherDerived, "w", owner), at(wallet, other, "s", owner)}},
		{tag: 11, name: "TransferWithSeed", data: []any{u64(units), seed(), other[:]}, seats: []seat{at(walletDerived, otherDerived, "w", source), at(wallet, other, "s", source), to}},
		{tag: 12, name: "UpgradeNonceAccount", seats: []seat{nonceAt}},
		{tag: 13, name: "CreateAccountAllowPrefund", data: []any{u64(1_000_000), u64(0), newOwner}, seats: []seat{fresh, at(wallet, other, "sw", payer)}},
		{tag: 99, name: "any other opcode", seats: []seat{from, to}, unlisted: true},
	}
	for n := range list {
		list[n].program = solana.SystemProgram
		list[n].data = append([]any{word(list[n].tag)}, list[n].data...)
	}
	return list
}

func associatedCatalogue() []instruction {
	program := solana.TokenProgram
	account := at(solana.AssociatedTokenAddress(wallet, unheldMint, program), solana.AssociatedTokenAddress(friend, unheldMint, program), "w", owner)
	seats := []seat{
		at(wallet, other, "sw", payer), account, at(wallet, friend, "", owner), fixed(unheldMint, ""),
		fixed(solana.SystemProgram, ""), fixed(program, ""),
	}
	nested := []seat{
		fixed(nestedTokens, "w"), fixed(spl.mint, ""), at(spl.ofWallet, spl.ofFriend, "w", destination),
		at(spl.ofWallet, spl.ofOther, "", owner), fixed(spl.mint, ""), at(wallet, other, "sw", owner), fixed(program, ""),
	}
	both := []string{payer + "+" + owner}
	return []instruction{
		{program: solana.AssociatedTokenProgram, tag: 0, name: "Create", data: []any{[]byte{0}}, seats: seats, also: both},
		{program: solana.AssociatedTokenProgram, tag: 0, name: "Create", way: "in its oldest form, without opcode", seats: seats, also: both},
		{program: solana.AssociatedTokenProgram, tag: 1, name: "CreateIdempotent", data: []any{[]byte{1}}, seats: seats, also: both},
		{program: solana.AssociatedTokenProgram, tag: 2, name: "RecoverNested", data: []any{[]byte{2}}, seats: nested},
		{program: solana.AssociatedTokenProgram, tag: 99, name: "any other opcode", data: []any{[]byte{99}}, seats: seats, unlisted: true},
	}
}

func budgetCatalogue() []instruction {
	budget := func(tag uint32, name string, argument []byte) instruction {
		return instruction{program: solana.ComputeBudgetProgram, tag: tag, name: name, data: []any{[]byte{byte(tag)}, argument}, network: true}
	}
	retired := budget(0, "any other opcode", u64(1))
	retired.unlisted = true
	return []instruction{
		budget(1, "RequestHeapFrame", u32(65_536)), budget(2, "SetComputeUnitLimit", u32(400_000)),
		budget(3, "SetComputeUnitPrice", u64(10_000)), budget(4, "SetLoadedAccountsDataSizeLimit", u32(20_000_000)), retired,
	}
}

func memoCatalogue() []instruction {
	memo := func(program solana.PublicKey) instruction {
		return instruction{program: program, name: "Memo", data: []any{[]byte("thank you")}, seats: []seat{at(wallet, other, "s", signer)}}
	}
	return []instruction{memo(solana.MemoV1Program), memo(solana.MemoProgram)}
}

func tableCatalogue() []instruction {
	table := at(walletTable, otherTable, "w", authority)
	may := at(wallet, other, "s", authority)
	pays := at(wallet, other, "sw", payer)
	system := fixed(solana.SystemProgram, "")
	list := []instruction{
		{tag: 0, name: "CreateLookupTable", data: []any{u64(1), []byte{255}}, seats: []seat{table, may, pays, system}},
		{tag: 1, name: "FreezeLookupTable", seats: []seat{table, may}},
		{tag: 2, name: "ExtendLookupTable", data: []any{u64(1), other[:]}, seats: []seat{table, may, pays, system}},
		{tag: 3, name: "DeactivateLookupTable", seats: []seat{table, may}},
		{tag: 4, name: "CloseLookupTable", seats: []seat{table, may, at(wallet, friend, "w", destination)}},
		{tag: 99, name: "any other opcode", seats: []seat{table, may}, unlisted: true},
	}
	for n := range list {
		list[n].program = solana.LookupTableProgram
		list[n].data = append([]any{word(list[n].tag)}, list[n].data...)
	}
	return list
}
