package solana

import (
	"bytes"
	"errors"
	"fmt"
)

// Version is the message format.
type Version uint8

// The message formats this codec speaks.
const (
	Legacy Version = iota
	V0
	V1
)

func (v Version) String() string {
	switch v {
	case Legacy:
		return "legacy"
	case V0:
		return "v0"
	case V1:
		return "v1"
	}
	return fmt.Sprintf("Version(%d)", uint8(v))
}

// Transaction is one wire transaction: one signature slot for each required
// signer, and the message that the signatures cover.
type Transaction struct {
	Signatures []Signature
	Message    Message
}

// Message is what signatures cover.
type Message struct {
	Version Version
	// The first RequiredSignatures keys sign; of those the last
	// ReadonlySigned are read-only; of the rest the last ReadonlyUnsigned are.
	RequiredSignatures uint8
	ReadonlySigned     uint8
	ReadonlyUnsigned   uint8
	// Keys are the static account keys. Keys[0] pays the fee.
	Keys         []PublicKey
	Blockhash    Hash
	Instructions []Instruction
	// Lookups name further accounts; v0 only.
	Lookups []Lookup
	// Config is the header's settings; v1 only.
	Config Config
}

// Instruction is one compiled instruction. Indexes point into the static keys,
// followed by all writable and then all read-only looked-up keys.
type Instruction struct {
	Program  uint8
	Accounts []uint8
	Data     []byte
}

// Lookup loads accounts from an on-chain address lookup table.
type Lookup struct {
	Table    PublicKey
	Writable []uint8
	Readonly []uint8
}

// Errors of ParseTransaction, for callers that word them apart.
var (
	ErrTooLarge = errors.New("transaction is larger than the network accepts")
	ErrVersion  = errors.New("transaction version is not supported")
)

const (
	versionBit    = 0x80
	maxAccounts   = 256
	maxSignatures = 127
)

// MaxSize is the most bytes that the network takes of a transaction of this
// version, its signatures included.
func (v Version) MaxSize() int {
	if v == V1 {
		return MaxTransactionSizeV1
	}
	return MaxTransactionSize
}

// ParseTransaction reads a transaction. It accepts only what the runtime
// would, in the one canonical encoding, with nothing left over: the result
// encodes back to exactly raw. Signatures are not verified here.
//
// A legacy or v0 transaction begins with the number of its signatures, which
// is below 0x80. A v1 transaction begins as its message does, with 0x81, and
// has its signatures at the end: with them ParseTransaction takes it, without
// them ParseMessage does, and neither takes what is for the other.
func ParseTransaction(raw []byte) (Transaction, error) {
	if err := checkSize(raw); err != nil {
		return Transaction{}, err
	}
	if len(raw) > 0 && raw[0] >= versionBit {
		if raw[0] != messageV1Byte {
			return Transaction{}, fmt.Errorf("%w: first byte 0x%02x", ErrVersion, raw[0])
		}
		return parseTransactionV1(raw)
	}
	r := reader{rest: raw}
	count := r.compactLen(maxSignatures, 64)
	signatures := make([]Signature, 0, count)
	for range count {
		signatures = append(signatures, Signature(r.take(64)))
	}
	if r.err != nil {
		return Transaction{}, fmt.Errorf("signatures: %w", r.err)
	}
	if len(r.rest) > 0 && r.rest[0] == messageV1Byte {
		return Transaction{}, errors.New("a v1 message behind its signatures, which v1 has at the end")
	}
	message, err := ParseMessage(r.rest)
	if err != nil {
		return Transaction{}, err
	}
	if len(signatures) != int(message.RequiredSignatures) {
		return Transaction{}, fmt.Errorf("%d signature slots for %d required signers", len(signatures), message.RequiredSignatures)
	}
	return Transaction{Signatures: signatures, Message: message}, nil
}

// ParseMessage reads a message without signatures, as strictly as
// ParseTransaction.
func ParseMessage(raw []byte) (Message, error) {
	if err := checkSize(raw); err != nil {
		return Message{}, err
	}
	r := reader{rest: raw}
	m, err := r.message()
	if err != nil {
		return Message{}, err
	}
	if len(r.rest) != 0 {
		return Message{}, fmt.Errorf("message: %d bytes left over", len(r.rest))
	}
	return m, nil
}

func checkSize(raw []byte) error {
	limit := Legacy.MaxSize()
	if len(raw) > 0 && raw[0] == messageV1Byte {
		limit = V1.MaxSize()
	}
	if len(raw) > limit {
		return fmt.Errorf("%w: %d bytes, limit %d", ErrTooLarge, len(raw), limit)
	}
	return nil
}

// message reads a message of any version, and whatever follows it stays.
func (r *reader) message() (Message, error) {
	var m Message
	switch first := r.byte(); {
	case first < versionBit:
		m = r.messageV0(Legacy, first)
	case first == versionBit:
		m = r.messageV0(V0, r.byte())
	case first == messageV1Byte:
		m = r.messageV1()
	default:
		return Message{}, fmt.Errorf("%w: message byte 0x%02x", ErrVersion, first)
	}
	if r.err != nil {
		return Message{}, fmt.Errorf("message: %w", r.err)
	}
	if err := m.Sanitize(); err != nil {
		return Message{}, err
	}
	return m, nil
}

// messageV0 reads a legacy or v0 message behind the first byte of its header.
func (r *reader) messageV0(version Version, signatures uint8) Message {
	m := Message{Version: version, RequiredSignatures: signatures, ReadonlySigned: r.byte(), ReadonlyUnsigned: r.byte()}
	keys := r.compactLen(maxAccounts, 32)
	m.Keys = make([]PublicKey, 0, keys)
	for range keys {
		m.Keys = append(m.Keys, PublicKey(r.take(32)))
	}
	m.Blockhash = Hash(r.take(32))
	// The smallest instruction is a program index and two zero counts.
	count := r.compactLen(len(r.rest), 3)
	m.Instructions = make([]Instruction, 0, count)
	for range count {
		m.Instructions = append(m.Instructions, Instruction{
			Program: r.byte(), Accounts: r.compactBytes(), Data: r.compactBytes(),
		})
	}
	if version == V0 {
		// The smallest lookup is a table key and two zero counts.
		count := r.compactLen(maxAccounts, 34)
		for range count {
			m.Lookups = append(m.Lookups, Lookup{
				Table: PublicKey(r.take(32)), Writable: r.compactBytes(), Readonly: r.compactBytes(),
			})
		}
	}
	return m
}

// Sanitize applies the runtime's structural rules, of which one is met here
// earlier than there: no static key twice. Whether a looked-up key repeats one
// is known only when the tables are. One rule is our own: no table twice.
func (m Message) Sanitize() error {
	signers, keys := int(m.RequiredSignatures), len(m.Keys)
	switch {
	case signers == 0:
		return errors.New("message requires no signature")
	case int(m.ReadonlySigned) >= signers:
		return errors.New("fee payer is not writable")
	case signers+int(m.ReadonlyUnsigned) > keys:
		return fmt.Errorf("header names %d signers and %d read-only keys, but there are %d keys", signers, m.ReadonlyUnsigned, keys)
	case m.Version == Legacy && len(m.Lookups) > 0:
		return errors.New("legacy message with lookup tables")
	case m.Version != V1 && m.Config != Config{}:
		return fmt.Errorf("%s message with settings in its header", m.Version)
	case m.AccountCount() > maxAccounts:
		return fmt.Errorf("message loads %d accounts, limit %d", m.AccountCount(), maxAccounts)
	}
	if m.Version == V1 {
		if err := m.sanitizeV1(); err != nil {
			return err
		}
	}
	if err := m.sanitizeKeys(); err != nil {
		return err
	}
	for i, instruction := range m.Instructions {
		if instruction.Program == 0 || int(instruction.Program) >= keys {
			return fmt.Errorf("instruction %d: program must be a static key other than the fee payer", i)
		}
		for _, account := range instruction.Accounts {
			if int(account) >= m.AccountCount() {
				return fmt.Errorf("instruction %d: account index %d of %d", i, account, m.AccountCount())
			}
		}
	}
	return nil
}

func (m Message) sanitizeKeys() error {
	seen := make(map[PublicKey]struct{}, len(m.Keys))
	for _, key := range m.Keys {
		if _, twice := seen[key]; twice {
			return fmt.Errorf("account %s appears twice", key)
		}
		seen[key] = struct{}{}
	}
	tables := make(map[PublicKey]struct{}, len(m.Lookups))
	for _, lookup := range m.Lookups {
		if _, twice := tables[lookup.Table]; twice {
			return fmt.Errorf("lookup table %s appears twice", lookup.Table)
		}
		tables[lookup.Table] = struct{}{}
		if len(lookup.Writable)+len(lookup.Readonly) == 0 {
			return fmt.Errorf("lookup table %s loads nothing", lookup.Table)
		}
	}
	return nil
}

// AccountCount is how many accounts instructions can index: static and looked up.
func (m Message) AccountCount() int {
	count := len(m.Keys)
	for _, lookup := range m.Lookups {
		count += len(lookup.Writable) + len(lookup.Readonly)
	}
	return count
}

// IsSigner reports whether the account at index signs.
func (m Message) IsSigner(index int) bool { return index < int(m.RequiredSignatures) }

// IsWritable reports whether the message asks for the account at index as
// writable. The runtime may still demote programs and sysvars.
func (m Message) IsWritable(index int) bool {
	static := len(m.Keys)
	switch {
	case index < int(m.RequiredSignatures):
		return index < int(m.RequiredSignatures)-int(m.ReadonlySigned)
	case index < static:
		return index < static-int(m.ReadonlyUnsigned)
	}
	writable := 0
	for _, lookup := range m.Lookups {
		writable += len(lookup.Writable)
	}
	return index < static+writable
}

// Marshal encodes the message. For a message that ParseMessage returned these
// are the bytes that were parsed. A message that Sanitize refuses may have no
// encoding, and gets some bytes that do not parse.
func (m Message) Marshal() []byte {
	if m.Version == V1 {
		return m.marshalV1()
	}
	var out bytes.Buffer
	if m.Version == V0 {
		out.WriteByte(versionBit)
	}
	out.Write([]byte{m.RequiredSignatures, m.ReadonlySigned, m.ReadonlyUnsigned})
	writeCompactLen(&out, len(m.Keys))
	for _, key := range m.Keys {
		out.Write(key[:])
	}
	out.Write(m.Blockhash[:])
	writeCompactLen(&out, len(m.Instructions))
	for _, instruction := range m.Instructions {
		out.WriteByte(instruction.Program)
		writeCompactBytes(&out, instruction.Accounts)
		writeCompactBytes(&out, instruction.Data)
	}
	if m.Version == V0 {
		writeCompactLen(&out, len(m.Lookups))
		for _, lookup := range m.Lookups {
			out.Write(lookup.Table[:])
			writeCompactBytes(&out, lookup.Writable)
			writeCompactBytes(&out, lookup.Readonly)
		}
	}
	return out.Bytes()
}

// Marshal encodes the transaction.
func (t Transaction) Marshal() []byte {
	var out bytes.Buffer
	if t.Message.Version == V1 {
		out.Write(t.Message.Marshal())
	} else {
		writeCompactLen(&out, len(t.Signatures))
	}
	for _, signature := range t.Signatures {
		out.Write(signature[:])
	}
	if t.Message.Version != V1 {
		out.Write(t.Message.Marshal())
	}
	return out.Bytes()
}

// ID is the transaction id: the fee payer's signature, whoever that is. It is
// zero until the fee payer has signed.
func (t Transaction) ID() Signature {
	if len(t.Signatures) == 0 {
		return Signature{}
	}
	return t.Signatures[0]
}
