package decode

import (
	"encoding/hex"
	"maps"

	"countersign/shared/fault"
	"countersign/shared/solana"
)

// discriminator is how Anchor programs name an instruction.
type discriminator [8]byte

// known is an opaque program that we know by name.
type known struct {
	name string
	// instructions is the closed list of what may be called; nil where no list
	// is known, so that the owner's naming the program is all there is.
	instructions map[discriminator]use
	// never says why the program is not called at top level, if it is not.
	never string
}

type use struct {
	name string
	uses Uses
	// never says why this instruction is not signed, if it is not.
	never string
}

const neverOrder = "it puts funds into an order that stays open"

// opaquePrograms: names and discriminators from the programs' published
// interfaces. An instruction that is not in a program's list is refused.
var opaquePrograms = map[solana.PublicKey]known{
	solana.FeeShareV2Program: {name: "Bags fee share v2", instructions: table(ForClaim, map[string]string{
		"a44037c75a4e93bc": "claim_user", "e58e2641c6326e3a": "claim_dbc", "e8af6a13a836ba6c": "claim_damm_v2",
		"b54e94dd64361572": "claim_partner", "d8b41dbc0c052b08": "claim_user_vault",
	})},
	solana.FeeShareV1Program: {name: "Bags fee share v1", instructions: table(ForClaim, map[string]string{
		"a1a9b6693fbbbe2e": "claim_a", "d5159f8315390243": "claim_b",
		"17fbd61b37441057": "claim_damm_a", "55bb4fe394dea95f": "claim_damm_b",
	})},
	solana.MeteoraDBCProgram: {name: "Meteora DBC", instructions: merge(
		table(ForSwap, map[string]string{"f8c69e91e17587c8": "swap", "414b3f4ceb5b5b88": "swap2"}),
		table(ForClaim, map[string]string{"08ec5931987db151": "claim_trading_fee", "52dcfabd03556b2d": "claim_creator_trading_fee"}),
	)},
	solana.MeteoraDAMMv2: {name: "Meteora DAMM v2", instructions: merge(
		table(ForSwap, map[string]string{"f8c69e91e17587c8": "swap", "414b3f4ceb5b5b88": "swap2"}),
		table(ForClaim, map[string]string{"b4269a118521a2d3": "claim_position_fee"}),
	)},
	solana.DFlowProgram: {name: "DFlow", instructions: merge(
		table(ForSwap, map[string]string{
			"f8c69e91e17587c8": "swap", "414b3f4ceb5b5b88": "swap2",
			"a8ac184dc59c8765": "swap_with_destination", "5f7bd5f67a0156e7": "swap2_with_destination",
			"cd4d7f6cf120c4c3": "swap_with_destination_native", "de64b892bac469a5": "swap2_with_destination_native",
			"2f3e9bac83cd25c9": "wrap_sol", "63280e692d6bacc9": "unwrap_sol",
			"4e0aecf76d75154c": "transfer_sol", "81a4c415b130b4a2": "transfer_fee",
			"e84b8c88fa4ee0bc": "close_empty_token_account", "2ee829905525aaaf": "create_referral_token_account_idempotent",
		}),
		map[discriminator]use{mustDiscriminator("ce58588f268832e0"): {name: "open_order", never: neverOrder}},
	)},
	solana.JupiterV6Program: {name: "Jupiter v6", instructions: table(ForSwap, map[string]string{
		"e517cb977ae3ad2a": "route", "bb64facc31c4af14": "route_v2",
		"c1209b3341d69c81": "shared_accounts_route", "d19853937cfed8e9": "shared_accounts_route_v2",
	})},
	solana.MustPublicKey("T1TANpTeScyeqVzzgNViGDNrkQ6qHz9KrSBS4aNXvGT"): {name: "Titan"},

	solana.StakeProgram:      {name: "Stake", never: "it manages stake"},
	solana.VoteProgram:       {name: "Vote", never: "it manages a vote account"},
	solana.UpgradeableLoader: {name: "BPF loader", never: "it manages programs"},
	solana.LoaderV2:          {name: "BPF loader", never: "it manages programs"},
	solana.LoaderV1:          {name: "BPF loader", never: "it manages programs"},
	solana.LoaderV4:          {name: "loader v4", never: "it manages programs"},
	solana.ConfigProgram:     {name: "Config", never: "it changes configuration accounts"},
	solana.MustPublicKey("Ed25519SigVerify111111111111111111111111111"): {name: "Ed25519 precompile", never: "each signature it checks is a fee"},
	solana.MustPublicKey("KeccakSecp256k11111111111111111111111111111"): {name: "secp256k1 precompile", never: "each signature it checks is a fee"},
	solana.MustPublicKey("Secp256r1SigVerify1111111111111111111111111"): {name: "secp256r1 precompile", never: "each signature it checks is a fee"},
	solana.MustPublicKey("ZkE1Gama1Proof11111111111111111111111111111"): {name: "ZK ElGamal proof", never: "it serves confidential transfers"},
}

// ProgramName is the name of a program that signerd knows, or its address.
func ProgramName(id solana.PublicKey) string {
	if found, ok := programs[id]; ok {
		return found.name
	}
	if found, ok := opaquePrograms[id]; ok {
		return found.name
	}
	return id.String()
}

// opaque describes an instruction of a program that is not decoded.
func opaque(instruction Instruction) (Instruction, error) {
	instruction.Kind = Opaque
	found, listed := opaquePrograms[instruction.Program]
	if found.never != "" {
		return Instruction{}, fault.New(fault.TransactionRefused,
			"instruction %d calls %s, which is never signed: %s", instruction.Index+1, found.name, found.never)
	}
	if !listed || found.instructions == nil {
		instruction.Name, instruction.Uses = ProgramName(instruction.Program), ForSwap|ForClaim
		return instruction, nil
	}
	if len(instruction.Data) < len(discriminator{}) {
		return Instruction{}, fault.New(fault.TransactionRefused,
			"instruction %d of %s cannot be explained: it has no discriminator", instruction.Index+1, found.name)
	}
	called, ok := found.instructions[discriminator(instruction.Data[:8])]
	switch {
	case !ok:
		return Instruction{}, fault.New(fault.TransactionRefused,
			"instruction %d of %s cannot be explained: discriminator %s is unknown",
			instruction.Index+1, found.name, hex.EncodeToString(instruction.Data[:8]))
	case called.never != "":
		return Instruction{}, fault.New(fault.TransactionRefused,
			"instruction %d (%s.%s) is never signed: %s", instruction.Index+1, found.name, called.name, called.never)
	}
	instruction.Name, instruction.Uses = found.name+"."+called.name, called.uses
	return instruction, nil
}

func table(uses Uses, names map[string]string) map[discriminator]use {
	listed := make(map[discriminator]use, len(names))
	for text, name := range names {
		listed[mustDiscriminator(text)] = use{name: name, uses: uses}
	}
	return listed
}

func merge(tables ...map[discriminator]use) map[discriminator]use {
	merged := make(map[discriminator]use)
	for _, next := range tables {
		maps.Copy(merged, next)
	}
	return merged
}

// mustDiscriminator is for constants of this file.
func mustDiscriminator(text string) discriminator {
	raw, err := hex.DecodeString(text)
	if err != nil || len(raw) != len(discriminator{}) {
		panic("constant discriminator " + text)
	}
	return discriminator(raw)
}
