package audit

import "bytes"

// scanned is what following the chain needs of a record.
type scanned struct{ seq, prev, kind, key []byte }

// canonicalKeys are a record's fields in the order of canonical JSON.
var canonicalKeys = [][]byte{
	[]byte("correlation"), []byte("data"), []byte("digest"), []byte("kind"), []byte("prev"),
	[]byte("proposal"), []byte("seq"), []byte("session"), []byte("time"),
}

// scan reads a record as this package writes them, many times faster than a
// JSON decoder. It accepts less: what it refuses may be a record all the same.
func scan(body []byte) (found scanned, ok bool) {
	s := scanner{rest: body}
	if !s.skip('{') {
		return scanned{}, false
	}
	next := 0
	for first := true; !s.skip('}'); first = false {
		if !first && !s.skip(',') {
			return scanned{}, false
		}
		name, plain := s.text()
		if !plain || !s.skip(':') {
			return scanned{}, false
		}
		for next < len(canonicalKeys) && !bytes.Equal(canonicalKeys[next], name) {
			next++
		}
		if next == len(canonicalKeys) {
			return scanned{}, false
		}
		next++
		if string(name) == "data" {
			if found.key, ok = s.data(); !ok {
				return scanned{}, false
			}
			continue
		}
		value, plain := s.text()
		switch string(name) {
		case "kind":
			found.kind = value
		case "prev":
			found.prev = value
		case "seq":
			found.seq = value
		default:
			if value != nil {
				continue // It is not needed, so what is escaped in it may stay so.
			}
		}
		if !plain {
			return scanned{}, false
		}
	}
	return found, len(s.rest) == 0
}

type scanner struct{ rest []byte }

func (s *scanner) skip(char byte) bool {
	if len(s.rest) == 0 || s.rest[0] != char {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// data reads an object of texts, and gives the value of keyField.
func (s *scanner) data() (key []byte, ok bool) {
	if !s.skip('{') {
		return nil, false
	}
	for first := true; !s.skip('}'); first = false {
		if !first && !s.skip(',') {
			return nil, false
		}
		name, _ := s.text()
		if name == nil || !s.skip(':') {
			return nil, false
		}
		value, plain := s.text()
		if value == nil {
			return nil, false
		}
		if string(name) == keyField {
			if !plain {
				return nil, false
			}
			key = value
		}
	}
	return key, true
}

// text reads a JSON string. What it gives is still escaped, unless plain; it is
// nil where there is no string that this package could have written.
func (s *scanner) text() (value []byte, plain bool) {
	if !s.skip('"') {
		return nil, false
	}
	plain = true
	for i := 0; i < len(s.rest); i++ {
		switch char := s.rest[i]; {
		case char == '"':
			value, s.rest = s.rest[:i:i], s.rest[i+1:]
			return value, plain
		case char == '\\':
			// All that is escaped is a quote or a backslash: printable has dealt
			// with the rest.
			if i+1 == len(s.rest) || s.rest[i+1] != '"' && s.rest[i+1] != '\\' {
				return nil, false
			}
			plain = false
			i++
		case char < 0x20 || char >= 0x80:
			return nil, false // Text in other scripts is left to the decoder.
		}
	}
	return nil, false
}
