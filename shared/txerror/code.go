package txerror

import (
	"countersign/shared/fault"
	"countersign/shared/solana"
)

// failure is one number of one program.
type failure struct {
	program solana.PublicKey
	code    string
}

// closer are the failures that tell the caller more than that it would fail.
var closer = map[failure]fault.Code{
	{solana.SystemProgram, "1"}:        fault.InsufficientFunds,
	{solana.TokenProgram, "1"}:         fault.InsufficientFunds,
	{solana.Token2022Program, "1"}:     fault.InsufficientFunds,
	{solana.DFlowProgram, "15001"}:     fault.PriceMoved,
	{solana.JupiterV6Program, "6001"}:  fault.PriceMoved,
	{solana.JupiterV6Program, "6024"}:  fault.InsufficientFunds,
	{solana.MeteoraDBCProgram, "6002"}: fault.PriceMoved,
	{solana.MeteoraDBCProgram, "6013"}: fault.NoRoute,
	{solana.MeteoraDAMMv2, "6002"}:     fault.PriceMoved,
	{solana.MeteoraDAMMv2, "6003"}:     fault.NoRoute,
	{solana.FeeShareV2Program, "6010"}: fault.NothingToClaim,
}

// refusals are the same of the runtime, which refuses a whole transaction.
var refusals = map[string]fault.Code{
	"AccountNotFound":          fault.InsufficientFunds,
	"InsufficientFundsForFee":  fault.InsufficientFunds,
	"InsufficientFundsForRent": fault.InsufficientFunds,
	"BlockhashNotFound":        fault.BlockhashExpired,
	"AlreadyProcessed":         fault.AlreadyLanded,
}

// Fault is the closest fault for a simulation that failed with e.
func (e Error) Fault() fault.Code {
	code, known := closer[failure{e.Program, e.Code}]
	if e.Instruction == NoInstruction {
		code, known = refusals[e.Code]
	}
	if !known {
		return fault.SimulationFailed
	}
	return code
}
