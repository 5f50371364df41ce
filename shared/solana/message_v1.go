package solana

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Config is what a v1 message says in its header of its fee and of what it
// needs to run. A nil field is absent from the bytes.
type Config struct {
	// PriorityFee is the whole priority fee, in lamports.
	PriorityFee *uint64
	// UnitLimit and LoadedDataLimit count as 0 where they are absent: such a
	// transaction can run nothing, or load nothing.
	UnitLimit       *uint32
	LoadedDataLimit *uint32
	// HeapSize is in bytes; absent means 32 KiB.
	HeapSize *uint32
}

const (
	messageV1Byte = versionBit | 1

	maxSignaturesV1   = 12
	maxKeysV1         = 64
	maxInstructionsV1 = 64

	heapStep  = 1 << 10
	leastHeap = 32 << 10
	mostHeap  = 256 << 10
)

// Bits of the config mask, each for four bytes of values.
const (
	maskPriorityFee     = 1<<0 | 1<<1
	maskUnitLimit       = 1 << 2
	maskLoadedDataLimit = 1 << 3
	maskHeapSize        = 1 << 4
	maskKnown           = maskPriorityFee | maskUnitLimit | maskLoadedDataLimit | maskHeapSize
)

var (
	errMask = errors.New("the config mask has a bit that means nothing")
	errHalf = errors.New("the config mask has half a priority fee")
)

// parseTransactionV1 reads a message and then one signature for each required
// signer: their number stands in the header alone.
func parseTransactionV1(raw []byte) (Transaction, error) {
	r := reader{rest: raw}
	message, err := r.message()
	if err != nil {
		return Transaction{}, err
	}
	if want := 64 * int(message.RequiredSignatures); len(r.rest) != want {
		return Transaction{}, fmt.Errorf("%d bytes follow the message, and its %d signatures take %d",
			len(r.rest), message.RequiredSignatures, want)
	}
	signatures := make([]Signature, 0, message.RequiredSignatures)
	for range message.RequiredSignatures {
		signatures = append(signatures, Signature(r.take(64)))
	}
	return Transaction{Signatures: signatures, Message: message}, nil
}

// messageV1 reads a message behind its version byte.
func (r *reader) messageV1() Message {
	m := Message{Version: V1, RequiredSignatures: r.byte(), ReadonlySigned: r.byte(), ReadonlyUnsigned: r.byte()}
	mask := r.uint32()
	m.Blockhash = Hash(r.take(32))
	count := int(r.byte())
	keys := r.fitting(int(r.byte()), maxKeysV1, 32)
	m.Keys = make([]PublicKey, 0, keys)
	for range keys {
		m.Keys = append(m.Keys, PublicKey(r.take(32)))
	}
	m.Config = r.config(mask)
	count = r.fitting(count, maxInstructionsV1, 4)
	headers := r.take(4 * count)
	m.Instructions = make([]Instruction, 0, count)
	for i := range count {
		header := headers[4*i : 4*i+4]
		m.Instructions = append(m.Instructions, Instruction{
			Program: header[0], Accounts: r.bytes(int(header[1])),
			Data: r.bytes(int(binary.LittleEndian.Uint16(header[2:]))),
		})
	}
	return m
}

func (r *reader) config(mask uint32) Config {
	var c Config
	switch {
	case mask&^uint32(maskKnown) != 0:
		r.fail(errMask)
		return c
	case mask&maskPriorityFee != 0 && mask&maskPriorityFee != maskPriorityFee:
		r.fail(errHalf)
		return c
	}
	if mask&maskPriorityFee != 0 {
		c.PriorityFee = new(binary.LittleEndian.Uint64(r.take(8)))
	}
	for _, field := range []struct {
		bit  uint32
		into **uint32
	}{{maskUnitLimit, &c.UnitLimit}, {maskLoadedDataLimit, &c.LoadedDataLimit}, {maskHeapSize, &c.HeapSize}} {
		if mask&field.bit != 0 {
			*field.into = new(r.uint32())
		}
	}
	return c
}

// append writes the values in the order of their bits.
func (c Config) append(out []byte) []byte {
	if c.PriorityFee != nil {
		out = binary.LittleEndian.AppendUint64(out, *c.PriorityFee)
	}
	for _, value := range []*uint32{c.UnitLimit, c.LoadedDataLimit, c.HeapSize} {
		if value != nil {
			out = binary.LittleEndian.AppendUint32(out, *value)
		}
	}
	return out
}

func (c Config) mask() uint32 {
	var mask uint32
	if c.PriorityFee != nil {
		mask |= maskPriorityFee
	}
	if c.UnitLimit != nil {
		mask |= maskUnitLimit
	}
	if c.LoadedDataLimit != nil {
		mask |= maskLoadedDataLimit
	}
	if c.HeapSize != nil {
		mask |= maskHeapSize
	}
	return mask
}

// sanitizeV1 applies the limits that v1 has of its own.
func (m Message) sanitizeV1() error {
	switch {
	case len(m.Lookups) > 0:
		return errors.New("v1 message with lookup tables")
	case m.RequiredSignatures > maxSignaturesV1:
		return fmt.Errorf("v1 message requires %d signatures, limit %d", m.RequiredSignatures, maxSignaturesV1)
	case len(m.Keys) > maxKeysV1:
		return fmt.Errorf("v1 message names %d accounts, limit %d", len(m.Keys), maxKeysV1)
	case len(m.Instructions) > maxInstructionsV1:
		return fmt.Errorf("v1 message has %d instructions, limit %d", len(m.Instructions), maxInstructionsV1)
	}
	for i, instruction := range m.Instructions {
		if len(instruction.Accounts) > 1<<8-1 || len(instruction.Data) > 1<<16-1 {
			return fmt.Errorf("instruction %d has more accounts or data than v1 can count", i)
		}
	}
	if heap := m.Config.HeapSize; heap != nil && (*heap%heapStep != 0 || *heap < leastHeap || *heap > mostHeap) {
		return fmt.Errorf("a heap of %d bytes does not exist", *heap)
	}
	return nil
}

// marshalV1 encodes the message, its version byte included.
func (m Message) marshalV1() []byte {
	out := make([]byte, 0, m.sizeV1())
	out = append(out, messageV1Byte, m.RequiredSignatures, m.ReadonlySigned, m.ReadonlyUnsigned)
	out = binary.LittleEndian.AppendUint32(out, m.Config.mask())
	out = append(out, m.Blockhash[:]...)
	out = append(out, uint8(len(m.Instructions)), uint8(len(m.Keys))) //nolint:gosec // G115: Sanitize bounds both.
	for _, key := range m.Keys {
		out = append(out, key[:]...)
	}
	out = m.Config.append(out)
	for _, instruction := range m.Instructions {
		out = append(out, instruction.Program, uint8(len(instruction.Accounts)))   //nolint:gosec // G115: Sanitize bounds it.
		out = binary.LittleEndian.AppendUint16(out, uint16(len(instruction.Data))) //nolint:gosec // G115: Sanitize bounds it.
	}
	for _, instruction := range m.Instructions {
		out = append(out, instruction.Accounts...)
		out = append(out, instruction.Data...)
	}
	return out
}

func (m Message) sizeV1() int {
	const fixed, values = 42, 20
	size := fixed + values + 32*len(m.Keys)
	for _, instruction := range m.Instructions {
		size += 4 + len(instruction.Accounts) + len(instruction.Data)
	}
	return size
}
