// Package strictjson reads the request bodies of the sandbox: a JSON object
// with exactly the fields that are declared, each of exactly the declared
// kind. Only the sandbox may import it. It promises that nothing is guessed:
// an unknown, missing or repeated name, another letter case, a number where
// text belongs, null, or anything after the object is an error that names the
// place.
package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Kind is the JSON type of a field.
type Kind uint8

// The kinds a request uses.
const (
	String Kind = iota + 1
	Object
	Array
)

func (k Kind) String() string {
	switch k {
	case String:
		return "a string"
	case Object:
		return "an object"
	case Array:
		return "an array"
	}
	return "an unknown kind"
}

// first is the byte that every value of the kind begins with.
func (k Kind) first() byte {
	return map[Kind]byte{String: '"', Object: '{', Array: '['}[k]
}

// Fields declares an object: every name must be there.
type Fields map[string]Kind

// maxDepth bounds nesting, so that a deep body cannot exhaust the stack.
const maxDepth = 32

// Decode reads raw as an object with exactly these fields. The values are the
// client's own bytes, whitespace around them removed.
func Decode(raw []byte, fields Fields) (map[string]json.RawMessage, error) {
	if !utf8.Valid(raw) {
		return nil, errors.New("body is not UTF-8")
	}
	if err := checkNames(raw); err != nil {
		return nil, err
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil || object == nil {
		return nil, errors.New("body must be a JSON object")
	}
	for name := range object {
		if _, declared := fields[name]; !declared {
			return nil, fmt.Errorf("unknown field %q", name)
		}
	}
	for name, kind := range fields {
		value, present := object[name]
		if !present {
			return nil, fmt.Errorf("field %q is required", name)
		}
		if value[0] != kind.first() {
			return nil, fmt.Errorf("field %q must be %s", name, kind)
		}
	}
	return object, nil
}

// Text is the value of a String field that Decode returned.
func Text(value json.RawMessage) string {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		// Decode has parsed the whole body and seen the opening quote.
		panic(fmt.Sprintf("strictjson: %v", err))
	}
	return text
}

// Items splits the value of an Array field that Decode returned.
func Items(value json.RawMessage) []json.RawMessage {
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		panic(fmt.Sprintf("strictjson: %v", err))
	}
	return items
}

// checkNames walks the whole value: encoding/json keeps the last of two equal
// names silently, and a client that sends both has a bug worth an error.
func checkNames(raw []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := walk(decoder, 0); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON value")
	}
	return nil
}

func walk(decoder *json.Decoder, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("JSON is nested deeper than %d", maxDepth)
	}
	token, err := decoder.Token()
	if err != nil {
		return errors.New("body is not valid JSON")
	}
	switch token {
	case json.Delim('{'):
		return walkObject(decoder, depth)
	case json.Delim('['):
		for decoder.More() {
			if err := walk(decoder, depth+1); err != nil {
				return err
			}
		}
		return closing(decoder)
	}
	return nil
}

func walkObject(decoder *json.Decoder, depth int) error {
	seen := map[string]bool{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return errors.New("body is not valid JSON")
		}
		name, isName := token.(string)
		if !isName {
			return errors.New("body is not valid JSON")
		}
		if seen[name] {
			return fmt.Errorf("field %q is repeated", name)
		}
		seen[name] = true
		if err := walk(decoder, depth+1); err != nil {
			return err
		}
	}
	return closing(decoder)
}

func closing(decoder *json.Decoder) error {
	if _, err := decoder.Token(); err != nil {
		return errors.New("body is not valid JSON")
	}
	return nil
}
