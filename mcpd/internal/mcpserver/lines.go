package mcpserver

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

// maxLine bounds one message. Of a longer one only its id and method are kept.
const maxLine = 1 << 20

// lineReader reads messages, one on a line, in bounded memory.
type lineReader struct {
	buffered *bufio.Reader
	line     []byte
}

func newLineReader(in io.Reader) *lineReader {
	return &lineReader{buffered: bufio.NewReaderSize(in, 64<<10)}
}

// oversized is what is known of a message that is too long.
type oversized struct {
	id     json.RawMessage
	method string
}

// next returns one line without its end, valid until the following call, or
// what is known of a line that is too long. The last line may lack its end.
func (r *lineReader) next() ([]byte, *oversized, error) {
	r.line = r.line[:0]
	var scan *topLevel
	for {
		part, err := r.buffered.ReadSlice('\n')
		if scan == nil && len(r.line)+len(part) > maxLine {
			scan = &topLevel{}
			scan.feed(r.line)
			r.line = nil
		}
		if scan != nil {
			scan.feed(part)
		} else {
			r.line = append(r.line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && (!errors.Is(err, io.EOF) || len(r.line) == 0 && scan == nil):
			return nil, nil, err
		case scan != nil:
			return nil, scan.result(), nil
		default:
			return r.line, nil, nil
		}
	}
}

// topLevel walks over the bytes of a JSON object, however long, and keeps the
// members id and method of its outermost level.
type topLevel struct {
	depth    int
	inString bool
	escaped  bool
	// isKey is true from the start of a member to its colon.
	isKey bool
	key   []byte
	value []byte
	kept  map[string]json.RawMessage
}

// maxMember bounds an id or a method.
const maxMember = 256

func (s *topLevel) feed(data []byte) {
	for _, b := range data {
		s.step(b)
	}
}

func (s *topLevel) step(b byte) {
	if s.inString {
		s.keep(b)
		switch {
		case s.escaped:
			s.escaped = false
		case b == '\\':
			s.escaped = true
		case b == '"':
			s.inString = false
		}
		return
	}
	switch b {
	case '{', '[':
		s.keep(b)
		s.depth++
		if s.depth == 1 {
			s.start()
		}
	case '}', ']':
		if s.depth == 1 {
			s.finish()
		}
		s.depth--
		s.keep(b)
	case ',':
		if s.depth == 1 {
			s.finish()
			s.start()
			return
		}
		s.keep(b)
	case ':':
		if s.depth == 1 {
			s.isKey = false
			return
		}
		s.keep(b)
	case '"':
		s.inString = true
		s.keep(b)
	case ' ', '\t', '\r', '\n':
	default:
		s.keep(b)
	}
}

func (s *topLevel) start() { s.isKey, s.key, s.value = true, s.key[:0], s.value[:0] }

// keep stores a byte of the current member, one more than the limit at most,
// so that a member that is too long is seen to be.
func (s *topLevel) keep(b byte) {
	if s.depth < 1 {
		return
	}
	if s.isKey {
		if len(s.key) <= maxMember {
			s.key = append(s.key, b)
		}
		return
	}
	if len(s.value) <= maxMember {
		s.value = append(s.value, b)
	}
}

func (s *topLevel) finish() {
	var name string
	if json.Unmarshal(s.key, &name) != nil || name != "id" && name != "method" || len(s.value) > maxMember || !json.Valid(s.value) {
		return
	}
	if s.kept == nil {
		s.kept = map[string]json.RawMessage{}
	}
	s.kept[name] = append(json.RawMessage(nil), s.value...)
}

func (s *topLevel) result() *oversized {
	known := &oversized{}
	if id := s.kept["id"]; validID(id) {
		known.id = id
	}
	// A method that is no string stays empty.
	_ = json.Unmarshal(s.kept["method"], &known.method)
	return known
}

// validID reports a string or a number, which JSON-RPC allows as an id.
func validID(raw json.RawMessage) bool {
	if len(raw) == 0 || len(raw) > maxMember {
		return false
	}
	return raw[0] == '"' || raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'
}
