package solana

import (
	"bytes"
	"encoding/binary"
	"errors"
)

var (
	errShort    = errors.New("ends too early")
	errAlias    = errors.New("a length is not in its shortest form")
	errTooMany  = errors.New("a length is larger than what follows")
	errTooLarge = errors.New("a length is over the limit")
)

// reader takes fields off the front of rest. After the first error every
// field is zero, so callers check err once.
type reader struct {
	rest []byte
	err  error
}

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
		r.rest = nil
	}
}

// take returns the next n bytes, or n zero bytes after an error, so that
// conversions to arrays are always in range.
func (r *reader) take(n int) []byte {
	if len(r.rest) < n {
		r.fail(errShort)
		return make([]byte, n)
	}
	field := r.rest[:n]
	r.rest = r.rest[n:]
	return field
}

func (r *reader) byte() byte { return r.take(1)[0] }

// compactLen reads a compact-u16 (seven bits a byte, least significant first)
// in its shortest form. The elements it announces, of at least elementSize
// bytes each, must fit into what is left: no allocation is made on the word of
// a length alone.
func (r *reader) compactLen(limit, elementSize int) int {
	value := 0
	for i := range 3 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		value |= int(b&0x7f) << (7 * i)
		if b&0x80 != 0 {
			continue
		}
		if i > 0 && b == 0 {
			r.fail(errAlias)
			return 0
		}
		return r.fitting(value, limit, elementSize)
	}
	r.fail(errTooLarge)
	return 0
}

func (r *reader) uint32() uint32 { return binary.LittleEndian.Uint32(r.take(4)) }

// fitting returns a count of elements that was read, or 0 where so many are
// over the limit or cannot fit into what is left.
func (r *reader) fitting(count, limit, elementSize int) int {
	switch {
	case r.err != nil:
		return 0
	case count > limit:
		r.fail(errTooLarge)
	case count*elementSize > len(r.rest):
		r.fail(errTooMany)
	default:
		return count
	}
	return 0
}

// bytes copies the next n bytes, or none after an error.
func (r *reader) bytes(n int) []byte {
	return bytes.Clone(r.take(r.fitting(n, 1<<16-1, 1)))
}

// compactBytes reads a length and that many bytes, copied.
func (r *reader) compactBytes() []byte {
	return bytes.Clone(r.take(r.compactLen(1<<16-1, 1)))
}

func writeCompactLen(out *bytes.Buffer, n int) {
	for n >= 0x80 {
		out.WriteByte(byte(n)&0x7f | 0x80)
		n >>= 7
	}
	out.WriteByte(byte(n & 0x7f))
}

func writeCompactBytes(out *bytes.Buffer, data []byte) {
	writeCompactLen(out, len(data))
	out.Write(data)
}
