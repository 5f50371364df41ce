package mutation_test

import (
	"encoding/binary"

	"pgregory.net/rapid"

	"countersign/shared/solana"
	"countersign/signerd/internal/decode/decodetest"
)

// tip is one of the block engine's tip accounts.
var tip = solana.MustPublicKey("96gYZGLnJYVFmbjzopPSU6QiEV5fGqZNyN9nmNhvrZU5")

var rentSysvar = solana.MustPublicKey("SysvarRent111111111111111111111111111111111")

// extra is one more instruction: a known way to rob, a harmless one, or
// anything at all.
func (s *stage) extra(rt *rapid.T, h honest) decodetest.Call {
	switch below(rt, "kind", 6) {
	case 0:
		return s.random(rt)
	case 1:
		return s.systemExtra(rt)
	case 2:
		return s.budgetExtra(rt)
	case 3:
		return s.opaqueExtra(rt, h)
	}
	return s.tokenExtra(rt)
}

// sums are amounts worth trying.
func sums(rt *rapid.T) uint64 {
	return rapid.SampledFrom([]uint64{0, 1, 5_000, 10_000, 2_039_280, spend, startLamports / 2, startLamports, startTokens, 1<<64 - 1}).Draw(rt, "sum")
}

func (s *stage) someone(rt *rapid.T) solana.PublicKey {
	return rapid.SampledFrom([]solana.PublicKey{s.thief, accomplice, s.friend, tip, s.second, wallet,
		solana.AssociatedTokenAddress(wallet, solana.WrappedSOL, solana.TokenProgram), s.ownToken()}).Draw(rt, "someone")
}

func (s *stage) ownToken() solana.PublicKey {
	return solana.AssociatedTokenAddress(wallet, s.token, solana.TokenProgram)
}

// systemExtra is an instruction of the System program that the wallet signs.
func (s *stage) systemExtra(rt *rapid.T) decodetest.Call {
	to, sum := s.someone(rt), sums(rt)
	system := func(data []byte, accounts ...decodetest.Meta) decodetest.Call {
		return decodetest.Call{Program: solana.SystemProgram, Accounts: accounts, Data: data}
	}
	number := func(opcode byte, rest ...uint64) []byte {
		data := []byte{opcode, 0, 0, 0}
		for _, each := range rest {
			data = binary.LittleEndian.AppendUint64(data, each)
		}
		return data
	}
	w, nonce := decodetest.SW(wallet), decodetest.W(s.parse(s.world.Nonce))
	hashes := decodetest.R(solana.MustPublicKey("SysvarRecentB1ockHashes11111111111111111111"))
	switch below(rt, "instruction", 10) {
	case 0:
		return system(append(number(1), to[:]...), w) // Assign
	case 1:
		return system(number(8, sum%10_000), w) // Allocate
	case 2:
		return system(number(4), nonce, hashes, decodetest.S(wallet)) // AdvanceNonceAccount
	case 3:
		return system(number(5, sum), nonce, decodetest.W(to), hashes, decodetest.R(rentSysvar), decodetest.S(wallet)) // WithdrawNonceAccount
	case 4:
		return system(append(number(7), to[:]...), nonce, decodetest.S(wallet)) // AuthorizeNonceAccount
	case 5:
		return system(append(number(6), to[:]...), w, hashes, decodetest.R(rentSysvar)) // InitializeNonceAccount
	case 6:
		return system(append(number(0, sum, 0), to[:]...), w, decodetest.SW(accomplice)) // CreateAccount, and it signs
	case 7:
		return system(append(number(1), to[:]...), decodetest.SW(accomplice)) // Assign of another
	}
	return decodetest.Transfer(wallet, to, sum)
}

func (s *stage) budgetExtra(rt *rapid.T) decodetest.Call {
	switch below(rt, "instruction", 5) {
	case 0:
		return decodetest.UnitPrice(sums(rt))
	case 1:
		return decodetest.UnitLimit(uint32(sums(rt)))
	case 2:
		return decodetest.Call{Program: solana.ComputeBudgetProgram, Data: binary.LittleEndian.AppendUint32([]byte{1}, 32<<10)}
	case 3:
		return decodetest.Call{Program: solana.ComputeBudgetProgram, Data: binary.LittleEndian.AppendUint32([]byte{4}, uint32(sums(rt)))}
	}
	return decodetest.Memo("hello")
}

// opaqueExtra calls a program that the bytes do not explain, once more or anew.
func (s *stage) opaqueExtra(rt *rapid.T, h honest) decodetest.Call {
	if below(rt, "anew", 3) > 0 {
		for _, call := range h.calls {
			if call.Program == solana.DFlowProgram || call.Program == solana.FeeShareV2Program {
				again := decodetest.Call{Program: call.Program, Data: append([]byte{}, call.Data...)}
				again.Accounts = append(append(again.Accounts, call.Accounts...), decodetest.W(s.someone(rt)), decodetest.W(s.someone(rt)), decodetest.W(s.someone(rt)))
				if len(again.Data) == 34 { // The market: how it cheats, and by how much.
					again.Data[8] = byte(below(rt, "mode", 11))
					binary.LittleEndian.PutUint64(again.Data[10:], rapid.SampledFrom([]uint64{1, spend, 2 * spend}).Draw(rt, "in"))
					binary.LittleEndian.PutUint64(again.Data[26:], sums(rt))
				}
				return again
			}
		}
	}
	program := rapid.SampledFrom([]solana.PublicKey{s.parse(s.world.UnknownProgram), solana.DFlowProgram, solana.FeeShareV2Program}).Draw(rt, "program")
	return decodetest.Call{Program: program, Accounts: []decodetest.Meta{decodetest.SW(wallet)}, Data: []byte{0}}
}

// tokenExtra is an instruction of a token program that the wallet signs.
func (s *stage) tokenExtra(rt *rapid.T) decodetest.Call {
	own := rapid.SampledFrom([]solana.PublicKey{s.ownToken(), s.second, solana.AssociatedTokenAddress(wallet, solana.WrappedSOL, solana.TokenProgram),
		solana.AssociatedTokenAddress(wallet, s.token2022, solana.Token2022Program)}).Draw(rt, "own")
	program, mint, decimals := solana.TokenProgram, s.token, s.world.TokenDecimals
	if own == solana.AssociatedTokenAddress(wallet, s.token2022, solana.Token2022Program) {
		program, mint, decimals = solana.Token2022Program, s.token2022, s.world.Token2022Decimal
	}
	who, sum := s.someone(rt), sums(rt)
	owner := rapid.SampledFrom([]solana.PublicKey{wallet, s.thief, s.friend}).Draw(rt, "owner")
	sized := func(opcode byte, rest ...byte) []byte {
		return append(binary.LittleEndian.AppendUint64([]byte{opcode}, sum), rest...)
	}
	token := func(data []byte, accounts ...decodetest.Meta) decodetest.Call {
		return decodetest.Call{Program: program, Accounts: accounts, Data: data}
	}
	w := decodetest.S(wallet)
	switch below(rt, "instruction", 14) {
	case 0:
		return decodetest.Approve(program, own, who, wallet, sum)
	case 1:
		return decodetest.SetAuthority(program, own, wallet, byte(2+below(rt, "authority", 2)), &who)
	case 2:
		return decodetest.Close(program, own, who, wallet)
	case 3:
		return token(sized(8), decodetest.W(own), decodetest.W(mint), w) // Burn
	case 4:
		return token(sized(15, decimals), decodetest.W(own), decodetest.W(mint), w) // BurnChecked
	case 5:
		return token(sized(13, decimals), decodetest.W(own), decodetest.R(mint), decodetest.R(who), w) // ApproveChecked
	case 6:
		return token(sized(3), decodetest.W(own), decodetest.W(solana.AssociatedTokenAddress(owner, mint, program)), w) // Transfer
	case 7:
		return decodetest.CreateIdempotent(wallet, owner, mint, program)
	case 8:
		return decodetest.SyncNative(own)
	case 9:
		return token([]byte{38}, decodetest.W(own), decodetest.W(who), w) // WithdrawExcessLamports
	case 10:
		return decodetest.Revoke(program, own, wallet)
	case 11:
		return decodetest.TransferChecked(program, own, mint, s.second, wallet, sum, decimals)
	}
	return decodetest.TransferChecked(program, own, mint, solana.AssociatedTokenAddress(owner, mint, program), wallet, sum, decimals)
}

// random is any opcode of a known program, over any accounts.
func (s *stage) random(rt *rapid.T) decodetest.Call {
	call := decodetest.Call{
		Program: rapid.SampledFrom([]solana.PublicKey{solana.SystemProgram, solana.TokenProgram, solana.Token2022Program,
			solana.AssociatedTokenProgram, solana.LookupTableProgram, solana.StakeProgram, solana.VoteProgram}).Draw(rt, "program"),
		Data: append([]byte{rapid.OneOf(rapid.ByteRange(0, 50), rapid.Byte()).Draw(rt, "opcode")}, rapid.SliceOfN(rapid.ByteRange(0, 3), 0, 12).Draw(rt, "data")...),
	}
	for range below(rt, "accounts", 6) {
		call.Accounts = append(call.Accounts, decodetest.Meta{Key: s.anyone(rt), Writable: rapid.Bool().Draw(rt, "writable")})
	}
	if rapid.Bool().Draw(rt, "signed") {
		call.Accounts = append(call.Accounts, decodetest.SW(wallet))
	}
	return call
}
