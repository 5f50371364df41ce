package plan

import (
	lib "github.com/gagliardetto/solana-go"
	ata "github.com/gagliardetto/solana-go/programs/associated-token-account"
	budget "github.com/gagliardetto/solana-go/programs/compute-budget"
	"github.com/gagliardetto/solana-go/programs/memo"
	"github.com/gagliardetto/solana-go/programs/system"
	"github.com/gagliardetto/solana-go/programs/token"

	"countersign/mcpd/internal/caps"
	"countersign/mcpd/internal/intent"
	"countersign/shared/amount"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// What our own transfers offer for their place in a block. Both are ceilings
// that the preview shows; nothing raises them silently.
const (
	transferUnits  = 60_000
	tokenUnits     = 160_000
	microPerUnit   = 20_000
	memoUnitsBytes = 400
)

// TransferKeys are the accounts that Transfer needs in its snapshot.
func TransferKeys(admitted caps.Admitted) []solana.PublicKey {
	transfer, ok := admitted.Intent().Transfer()
	if !ok {
		return nil
	}
	wallet := admitted.Signer().Wallet
	keys := []solana.PublicKey{wallet, transfer.To}
	if transfer.Mint == amount.SOL {
		return keys
	}
	keys = append(keys, transfer.Mint)
	for _, program := range []solana.PublicKey{solana.TokenProgram, solana.Token2022Program} {
		keys = append(keys, solana.AssociatedTokenAddress(wallet, transfer.Mint, program),
			solana.AssociatedTokenAddress(transfer.To, transfer.Mint, program))
	}
	return keys
}

// Transfer builds the transaction of a transfer.
func Transfer(admitted caps.Admitted, snapshot Snapshot) (Unsigned, error) {
	transfer, ok := admitted.Intent().Transfer()
	if !ok {
		return Unsigned{}, fault.New(fault.Internal, "a transfer was planned for another intent")
	}
	wallet := admitted.Signer().Wallet
	if err := checkRecipient(transfer.To, wallet, snapshot); err != nil {
		return Unsigned{}, err
	}
	mint, units, err := spend(admitted, transfer.Mint, transfer.Amount, snapshot)
	if err != nil {
		return Unsigned{}, err
	}
	move, err := moveInstructions(transfer, mint, units, wallet, snapshot)
	if err != nil {
		return Unsigned{}, err
	}
	limit := uint32(transferUnits)
	if transfer.Mint != amount.SOL {
		limit = tokenUnits
	}
	if transfer.Memo != "" {
		limit += uint32(len(transfer.Memo)) * memoUnitsBytes //nolint:gosec // intent lets 256 bytes through
		move = append(move, memo.NewMemoInstruction([]byte(transfer.Memo), lib.PublicKey(wallet)).Build())
	}
	instructions := append([]lib.Instruction{
		budget.NewSetComputeUnitLimitInstruction(limit).Build(),
		budget.NewSetComputeUnitPriceInstruction(microPerUnit).Build(),
	}, move...)
	raw, err := encode(instructions, wallet, snapshot)
	if err != nil {
		return Unsigned{}, err
	}
	read, err := ReadTransaction(raw, nil)
	if err != nil {
		return Unsigned{}, err
	}
	bounds := Bounds{MaxOut: []Asset{{Mint: transfer.Mint, Amount: units}}, Recipients: []solana.PublicKey{transfer.To}}
	return assemble(admitted, FlowTransfer, [][]byte{raw}, []Read{read}, snapshot, bounds)
}

// checkRecipient refuses what is no wallet: funds sent to a program, a mint or
// a token account do not come back.
func checkRecipient(to, wallet solana.PublicKey, snapshot Snapshot) error {
	if to == wallet {
		return fault.New(fault.InvalidArguments, "to is the wallet itself")
	}
	account, exists := snapshot.Accounts[to]
	if err := intent.CheckRecipientExists(to, exists); err != nil {
		return err
	}
	if exists && (account.Executable || account.Owner != solana.SystemProgram) {
		return fault.New(fault.InvalidArguments, "to (%s) is not a wallet: the account belongs to the program %s; give the owner's wallet address", to, account.Owner)
	}
	return nil
}

// Spend reads the mint of what leaves and its exact base units.
func Spend(admitted caps.Admitted, asset solana.PublicKey, text string, snapshot Snapshot) (amount.Units, error) {
	_, units, err := spend(admitted, asset, text, snapshot)
	return units, err
}

func spend(admitted caps.Admitted, asset solana.PublicKey, text string, snapshot Snapshot) (Mint, amount.Units, error) {
	mint, err := ReadMint(asset, snapshot)
	if err != nil {
		return Mint{}, 0, err
	}
	if stated, known := caps.DecimalsOf(asset, admitted.Signer().Capped); known && stated != mint.Decimals {
		return Mint{}, 0, fault.New(fault.PolicyDenied, "the policy says %d decimals for %s, the chain says %d", stated, asset, mint.Decimals)
	}
	units, err := amount.ParseDecimal(text, mint.Decimals)
	if err != nil {
		return Mint{}, 0, intent.AmountFault(err)
	}
	return mint, units, nil
}

func moveInstructions(transfer intent.Transfer, mint Mint, units amount.Units, wallet solana.PublicKey, snapshot Snapshot) ([]lib.Instruction, error) {
	from, to := lib.PublicKey(wallet), lib.PublicKey(transfer.To)
	if transfer.Mint == amount.SOL {
		_, exists := snapshot.Accounts[transfer.To]
		if least := snapshot.Rent[0]; !exists && units < least {
			return nil, fault.New(fault.AmountInvalid, "%s has no account yet and must receive at least %s SOL", transfer.To, least.Decimal(amount.SOLDecimals))
		}
		if have := snapshot.Accounts[wallet].Lamports; have < units {
			return nil, poor(have, amount.SOLDecimals, "SOL")
		}
		return []lib.Instruction{system.NewTransferInstruction(uint64(units), from, to).Build()}, nil
	}
	if mint.NonTransferable || mint.TransferHook {
		return nil, fault.New(fault.InvalidArguments, "the token %s cannot be sent: its mint forbids transfers or calls a program at each of them", mint.Address)
	}
	source := solana.AssociatedTokenAddress(wallet, mint.Address, mint.Program)
	if have := TokenBalance(source, snapshot); have < units {
		return nil, poor(have, mint.Decimals, mint.Address.String())
	}
	destination := solana.AssociatedTokenAddress(transfer.To, mint.Address, mint.Program)
	create := ata.NewCreateIdempotentInstructionWithTokenProgram(from, to, lib.PublicKey(mint.Address), lib.PublicKey(mint.Program)).Build()
	checked := token.NewTransferCheckedInstruction(uint64(units), mint.Decimals, lib.PublicKey(source), lib.PublicKey(mint.Address),
		lib.PublicKey(destination), from, nil).Build()
	data, err := checked.Data()
	if err != nil {
		return nil, fault.New(fault.Internal, "a transfer could not be encoded").Because(err)
	}
	// Both token programs read this instruction alike; the mint's own must get it.
	return []lib.Instruction{create, lib.NewInstruction(lib.PublicKey(mint.Program), checked.Accounts(), data)}, nil
}

func encode(instructions []lib.Instruction, payer solana.PublicKey, snapshot Snapshot) ([]byte, error) {
	failed := func(err error) ([]byte, error) {
		return nil, fault.New(fault.Internal, "the transaction could not be built").Because(err)
	}
	tx, err := lib.NewTransaction(instructions, lib.Hash(snapshot.Blockhash), lib.TransactionPayer(lib.PublicKey(payer)))
	if err != nil {
		return failed(err)
	}
	tx.Signatures = make([]lib.Signature, tx.Message.Header.NumRequiredSignatures)
	raw, err := tx.MarshalBinary()
	if err != nil {
		return failed(err)
	}
	if len(raw) > solana.MaxTransactionSize {
		return nil, fault.New(fault.TransactionTooLarge, "the transaction would have %d bytes; %d is the limit", len(raw), solana.MaxTransactionSize)
	}
	return raw, nil
}
