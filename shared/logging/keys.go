package logging

// The attribute keys. A key that is not here is not used, so that a reader of
// the log can learn them all.
const (
	KeyAgentSocket    = "agent_socket"
	KeyBackend        = "custody_backend"
	KeyBytes          = "bytes"
	KeyCluster        = "cluster"
	KeyCode           = "code"
	KeyCorrelation    = "correlation"
	KeyError          = "error"
	KeyGenesis        = "genesis_hash"
	KeyMethod         = "method"
	KeyOperatorSocket = "operator_socket"
	KeyOutcome        = "outcome"
	KeyPath           = "path"
	KeyPID            = "pid"
	KeyProposal       = "proposal"
	KeyReason         = "reason"
	KeyReservation    = "reservation"
	KeySignature      = "signature"
	KeyStack          = "stack"
	KeyStage          = "stage"
	KeyStatus         = "status"
	KeyTimeout        = "timeout"
	KeyTool           = "tool"
	KeyUID            = "uid"
	KeyVersion        = "version"
	KeyWallet         = "wallet"
)
