package simulate

import (
	"encoding/json"
	"strconv"
	"strings"

	"countersign/mcpd/internal/chain"
	"countersign/mcpd/internal/plan"
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// explain words why a run failed. Numbers of custom errors mean something only
// together with the program that failed, which the log names.
func explain(run chain.Run, read plan.Read) error {
	var word string
	if err := json.Unmarshal(run.Err, &word); err == nil {
		return transactionFault(word)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(run.Err, &object); err != nil || len(object) != 1 {
		return unexplained()
	}
	for kind, detail := range object {
		if kind != "InstructionError" {
			return transactionFault(kind)
		}
		return instructionFault(detail, run.Logs, read)
	}
	return unexplained()
}

func unexplained() error {
	return fault.New(fault.SimulationFailed, "the transaction would fail, for a reason the RPC node did not name")
}

func transactionFault(kind string) error {
	switch kind {
	case "AccountNotFound":
		return fault.New(fault.InsufficientFunds, "the wallet has no SOL at all: its account does not exist")
	case "InsufficientFundsForFee":
		return fault.New(fault.InsufficientFunds, "the wallet cannot pay the network fee")
	case "InsufficientFundsForRent":
		return fault.New(fault.InsufficientFunds, "an account would be left with less SOL than its rent")
	case "BlockhashNotFound":
		return fault.New(fault.BlockhashExpired, "the transaction was built on a blockhash that is no longer valid")
	case "AlreadyProcessed":
		return fault.New(fault.AlreadyLanded, "this very transaction is on chain already")
	case "AddressLookupTableNotFound", "InvalidAddressLookupTableIndex":
		return fault.New(fault.SimulationFailed, "a lookup table of the transaction does not exist")
	case "WouldExceedMaxBlockCostLimit", "MaxLoadedAccountsDataSizeExceeded":
		return fault.New(fault.SimulationFailed, "the transaction needs more than the network allows")
	}
	return unexplained()
}

func instructionFault(detail json.RawMessage, logs []string, read plan.Read) error {
	var parts []json.RawMessage
	if err := json.Unmarshal(detail, &parts); err != nil || len(parts) != 2 {
		return unexplained()
	}
	program := failingProgram(logs, read)
	var custom struct {
		Custom *uint32 `json:"Custom"`
	}
	if err := json.Unmarshal(parts[1], &custom); err == nil && custom.Custom != nil {
		return customFault(program, *custom.Custom)
	}
	var word string
	if err := json.Unmarshal(parts[1], &word); err == nil && word == "ComputationalBudgetExceeded" {
		return fault.New(fault.SimulationFailed, "the transaction would run out of compute units")
	}
	return fault.New(fault.SimulationFailed, "program %s would fail", program)
}

// failingProgram is the innermost program that the log says failed, which is
// the first one to say so.
func failingProgram(logs []string, read plan.Read) string {
	for _, line := range logs {
		rest, ok := strings.CutPrefix(line, "Program ")
		if !ok {
			continue
		}
		name, what, _ := strings.Cut(rest, " ")
		key, err := solana.ParsePublicKey(name)
		if err == nil && strings.HasPrefix(what, "failed") {
			return key.String()
		}
	}
	if len(read.Opaque) == 1 {
		return read.Opaque[0].String()
	}
	return "of the transaction"
}

type customCode struct {
	program string
	code    uint32
}

type meaning struct {
	code fault.Code
	text string
}

// Meanings of custom errors, from the programs' own error lists.
var meanings = map[customCode]meaning{
	{solana.SystemProgram.String(), 0}:        {fault.SimulationFailed, "an account that should be new exists already"},
	{solana.SystemProgram.String(), 1}:        {fault.InsufficientFunds, "the wallet does not hold enough SOL"},
	{solana.TokenProgram.String(), 0}:         {fault.SimulationFailed, "a token account would be below its rent"},
	{solana.TokenProgram.String(), 1}:         {fault.InsufficientFunds, "the wallet does not hold enough of the token"},
	{solana.TokenProgram.String(), 17}:        {fault.SimulationFailed, "the token account is frozen"},
	{solana.Token2022Program.String(), 1}:     {fault.InsufficientFunds, "the wallet does not hold enough of the token"},
	{solana.Token2022Program.String(), 17}:    {fault.SimulationFailed, "the token account is frozen"},
	{solana.Token2022Program.String(), 37}:    {fault.SimulationFailed, "the token forbids transfers"},
	{solana.Token2022Program.String(), 67}:    {fault.SimulationFailed, "the token is paused"},
	{solana.DFlowProgram.String(), 15001}:     {fault.PriceMoved, "the price moved past the slippage"},
	{solana.JupiterV6Program.String(), 6001}:  {fault.PriceMoved, "the price moved past the slippage"},
	{solana.JupiterV6Program.String(), 6024}:  {fault.InsufficientFunds, "the wallet does not hold enough of the input"},
	{solana.MeteoraDBCProgram.String(), 6002}: {fault.PriceMoved, "the price moved past the slippage"},
	{solana.MeteoraDBCProgram.String(), 6013}: {fault.NoRoute, "the token's launch curve is full and it is moving to its pool"},
	{solana.MeteoraDAMMv2.String(), 6002}:     {fault.PriceMoved, "the price moved past the slippage"},
	{solana.MeteoraDAMMv2.String(), 6003}:     {fault.NoRoute, "the pool is disabled"},
	{solana.FeeShareV2Program.String(), 6009}: {fault.SimulationFailed, "the wallet may not claim these fees"},
	{solana.FeeShareV2Program.String(), 6010}: {fault.NothingToClaim, "there is nothing to claim"},
	{solana.FeeShareV2Program.String(), 6013}: {fault.SimulationFailed, "the list of claimers has changed"},
	{solana.FeeShareV2Program.String(), 6024}: {fault.SimulationFailed, "claims are locked while the fee configuration is being changed"},
	{solana.FeeShareV1Program.String(), 6003}: {fault.SimulationFailed, "the wallet may not claim these fees"},
}

func customFault(program string, code uint32) error {
	if known, ok := meanings[customCode{program, code}]; ok {
		return fault.New(known.code, "the transaction would fail: %s", known.text)
	}
	return fault.New(fault.SimulationFailed, "program %s would fail with its error %s", program, strconv.FormatUint(uint64(code), 10))
}
