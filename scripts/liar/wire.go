package liar

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	lib "github.com/gagliardetto/solana-go"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	operatorv1 "countersign/proto/operator/v1"
	signerv1 "countersign/proto/signer/v1"
	"countersign/scripts/localnet"
	"countersign/scripts/sandbox/bagsandbox"
)

// versions sends bytes of formats that are off by default or do not exist.
func (l *Liar) versions(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	o, err := l.payment(ctx, l.people.thief, 1_000_000)
	if err != nil {
		return 0, err
	}
	raw := o.batch[0]
	switch r.IntN(5) {
	case 0:
		o.batch[0], err = l.versionOne(ctx, 1_000_000)
	case 1:
		raw[0] = byte(0x80 + r.IntN(128))
	case 2:
		raw[65] = byte(0x80 + r.IntN(128))
	case 3:
		o.batch[0] = append(raw, byte(r.IntN(256)))
	default:
		o.batch[0] = raw[:r.IntN(len(raw))]
	}
	if err != nil {
		return 0, err
	}
	return l.carryOut(ctx, s, o, o.batch)
}

// versionOne is a payment in the format of SIMD-0385, written from its table of
// fields.
func (l *Liar) versionOne(ctx context.Context, lamports uint64) ([]byte, error) {
	hash, err := l.latest(ctx)
	if err != nil {
		return nil, err
	}
	raw := []byte{0x81, 1, 0, 1, 0x0f, 0, 0, 0} // fee, unit limit and loaded data are stated
	raw = append(raw, hash[:]...)
	raw = append(raw, 1, 3)
	for _, key := range []lib.PublicKey{l.people.wallet, l.people.thief, lib.SystemProgramID} {
		raw = append(raw, key[:]...)
	}
	raw = u64(raw, 7_777)
	raw = append(raw, 0xe8, 0x03, 0, 0, 0x40, 0x0d, 0x03, 0) // 1,000 units, 200,000 bytes
	raw = append(raw, 2, 2, 12, 0, 0, 1)
	raw = u64(append(raw, 2, 0, 0, 0), lamports)
	return append(raw, make([]byte, 64)...), nil
}

// nonces would be valid for ever.
func (l *Liar) nonces(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	p := l.people
	hashes := lib.SysVarRecentBlockHashesPubkey
	instructions := []lib.Instruction{
		call(lib.SystemProgramID, []byte{4, 0, 0, 0}, write(p.nonce), read(hashes), sign(p.wallet)),
		call(lib.SystemProgramID, u64([]byte{5, 0, 0, 0}, 1_000_000), write(p.nonce), write(p.thief), read(hashes), read(lib.SysVarRentPubkey), sign(p.wallet)),
		call(lib.SystemProgramID, append([]byte{7, 0, 0, 0}, p.thief[:]...), write(p.nonce), sign(p.wallet)),
		call(lib.SystemProgramID, append([]byte{6, 0, 0, 0}, p.thief[:]...), sign(p.wallet), read(hashes), read(lib.SysVarRentPubkey)),
	}
	list := []lib.Instruction{instructions[r.IntN(len(instructions))], transfer(p.wallet, p.thief, 1_000)}
	raw, err := l.compile(ctx, p.wallet, list...)
	if err != nil {
		return 0, err
	}
	o := l.argue(offer{flow: signerv1.Flow_FLOW_TRANSFER, batch: [][]byte{raw}, bounds: &signerv1.Bounds{
		MaxOut: assets(p.wsol, uint64(1_000)), MaxFee: 50_000, Recipients: [][]byte{p.thief.Bytes()},
	}})
	return l.carryOut(ctx, s, o, o.batch)
}

// tables has accounts looked up in tables of the attacker's making.
func (l *Liar) tables(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	table := newcomer(r)
	data := make([]byte, 56, 56+64)
	data[0] = 1
	for i := range 8 {
		data[4+i] = 0xff
	}
	listed := []lib.PublicKey{l.people.thief, l.people.crony.PublicKey()}
	for _, key := range listed {
		data = append(data, key[:]...)
	}
	owner := lib.AddressLookupTableProgramID
	switch r.IntN(5) {
	case 0:
		owner = l.people.unknown
	case 1:
		data = data[:len(data)-1]
	case 2:
		data[0] = 0
	case 3:
		clear(data[4:12]) // deactivated long ago
	}
	if err := l.Chain.SetAccount(ctx, table.String(), localnet.Account{Lamports: 10_000_000, Owner: owner.String(), Data: data}); err != nil {
		return 0, err
	}
	hash, err := l.latest(ctx)
	if err != nil {
		return 0, err
	}
	tx, err := lib.NewTransaction([]lib.Instruction{transfer(l.people.wallet, listed[r.IntN(2)], 1_000_000)}, hash, lib.TransactionPayer(l.people.wallet),
		lib.TransactionMessageVersion(lib.MessageVersionV0), lib.TransactionAddressTables(map[lib.PublicKey]lib.PublicKeySlice{table: listed}))
	if err != nil {
		return 0, err
	}
	tx.Signatures = make([]lib.Signature, 1)
	raw, err := tx.MarshalBinary()
	if err != nil {
		return 0, err
	}
	o := l.argue(offer{flow: signerv1.Flow_FLOW_TRANSFER, batch: [][]byte{raw}, bounds: &signerv1.Bounds{
		MaxOut: assets(l.people.wsol, uint64(1_000_000)), MaxFee: 50_000, Recipients: [][]byte{l.people.thief.Bytes()},
	}})
	proposal, err := l.propose(ctx, s, o)
	if err != nil {
		return Refused, err
	}
	// What was the thief at judgement is somebody else at execution.
	copy(data[56:], lib.SystemProgramID[:])
	if err := l.Chain.SetAccount(ctx, table.String(), localnet.Account{Lamports: 10_000_000, Owner: owner.String(), Data: data}); err != nil {
		return 0, err
	}
	return conclude(s.execute(ctx, proposal.GetConfirmationCode(), o.fingerprint(), o.batch))
}

// garbled sends bytes as they are.
type garbled struct{}

func (garbled) Name() string { return "proto" }

func (garbled) Marshal(v any) ([]byte, error) {
	raw, ok := v.(*[]byte)
	if !ok {
		return nil, fmt.Errorf("%T is no raw message", v)
	}
	return *raw, nil
}

func (garbled) Unmarshal(data []byte, v any) error {
	raw, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("%T is no raw message", v)
	}
	*raw = data
	return nil
}

// malformed sends messages that no client would.
func (l *Liar) malformed(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	o, err := l.payment(ctx, l.people.thief, 1_000_000)
	if err != nil {
		return 0, err
	}
	raw, err := proto.Marshal(&signerv1.ProposeRequest{
		Intent: &signerv1.Intent{Tool: o.tool, ArgumentsJson: o.arguments, Fingerprint: o.fingerprint()}, Flow: o.flow, Transactions: o.batch, Bounds: o.bounds,
	})
	if err != nil {
		return 0, err
	}
	switch r.IntN(5) {
	case 0:
		raw = raw[:r.IntN(len(raw))]
	case 1:
		raw[r.IntN(len(raw))] ^= byte(1 + r.IntN(255))
	case 2:
		raw = append(raw, make([]byte, 8<<20)...)
	case 3:
		for i := range raw {
			raw[i] = byte(r.IntN(256))
		}
	default:
		raw = append(raw, raw...) // Every field twice.
	}
	methods := []string{signerv1.SignerService_Propose_FullMethodName, signerv1.SignerService_CheckConfirmation_FullMethodName,
		signerv1.SignerService_GetReceipt_FullMethodName, signerv1.SignerService_CancelProposal_FullMethodName}
	var answer []byte
	if err := s.connection.Invoke(ctx, methods[r.IntN(2)], &raw, &answer, grpc.ForceCodec(garbled{})); err != nil {
		return Refused, err
	}
	return Accepted, nil
}

// foreignMethods calls what is not served on this socket.
func (*Liar) foreignMethods(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	methods := []string{operatorv1.OperatorService_GetStatus_FullMethodName, operatorv1.OperatorService_GetLimits_FullMethodName,
		"/operator.v1.OperatorService/Approve", "/operator.v1.OperatorService/AddRecipient", "/signer.v1.SignerService/Sign", "/", "/../x"}
	var request, answer []byte
	if err := s.connection.Invoke(ctx, methods[r.IntN(len(methods))], &request, &answer, grpc.ForceCodec(garbled{})); err != nil {
		return Refused, err
	}
	return 0, errors.New("agent.sock serves a method of operator.sock")
}

// newConnection hopes to begin a session whose cap is fresh.
func (l *Liar) newConnection(ctx context.Context, _ *session, r *rand.Rand) (Outcome, error) {
	s, err := l.connect()
	if err != nil {
		return 0, err
	}
	defer s.connection.Close()
	o, err := l.payment(ctx, l.people.thief, 1+r.Uint64N(l.Room/100))
	if err != nil {
		return 0, err
	}
	if _, err := l.propose(ctx, s, o); err != nil {
		return Refused, err
	}
	return Accepted, nil
}

// foreignProposals cancels and reads what other sessions asked for.
func (l *Liar) foreignProposals(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	in, out, units := l.pair(r)
	o, err := l.trade(ctx, in, out, units, bagsandbox.Misbehaviour{})
	if err != nil {
		return 0, err
	}
	proposal, err := l.propose(ctx, s, o)
	if err != nil {
		return Refused, err
	}
	other := l.pick(r)
	_, err = other.signer.CancelProposal(ctx, &signerv1.CancelProposalRequest{ProposalId: proposal.GetId()})
	if err == nil {
		return Accepted, nil
	}
	return Refused, err
}
