package intent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"

	"countersign/shared/fault"
)

// Limits on JSON from outside.
const (
	// MaxArguments bounds the arguments of one call.
	MaxArguments = 64 << 10
	maxDepth     = 32
)

// Errors of CheckJSON.
var (
	ErrDuplicateKey = errors.New("an object has the same key twice")
	ErrDepth        = errors.New("nested too deeply")
	ErrNotJSON      = errors.New("not valid JSON")
)

// Decode reads arguments into a struct of flat fields, strictly: the exact
// names only (encoding/json alone would also take AMOUNT for amount, and the
// last of two equal keys), nothing after the object, no null.
func Decode(raw json.RawMessage, into any) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if len(raw) > MaxArguments {
		return fault.New(fault.InvalidArguments, "the arguments are larger than %d KiB", MaxArguments>>10)
	}
	if err := CheckJSON(raw); err != nil {
		return fault.New(fault.InvalidArguments, "the arguments are refused: %s", err.Error())
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || members == nil {
		return fault.New(fault.InvalidArguments, "the arguments must be a JSON object").Because(err)
	}
	names := fieldNames(into)
	for name, value := range members {
		if !slices.Contains(names, name) {
			return fault.New(fault.InvalidArguments, "there is an unknown argument; known are %s", strings.Join(names, ", "))
		}
		if bytes.Equal(value, []byte("null")) {
			return fault.New(fault.InvalidArguments, "%s is null; leave it out instead", name)
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && slices.Contains(names, wrong.Field) {
			return fault.New(fault.InvalidArguments, "%s must be a %s, not a JSON %s", wrong.Field, typeName(wrong.Type), strings.Fields(wrong.Value)[0])
		}
		return fault.New(fault.InvalidArguments, "an argument has the wrong type").Because(err)
	}
	return nil
}

func typeName(wanted reflect.Type) string {
	if wanted.Kind() == reflect.Slice {
		return "list of strings"
	}
	if wanted == reflect.TypeFor[json.Number]() {
		return "number"
	}
	return "string"
}

func fieldNames(into any) []string {
	structure := reflect.TypeOf(into).Elem()
	var names []string
	for field := range structure.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		names = append(names, name)
	}
	return names
}

// CheckJSON refuses what a lenient reader would take in more than one way:
// duplicate keys at any depth, trailing data, deep nesting.
func CheckJSON(raw []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := checkValue(decoder, 0); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return ErrNotJSON
	}
	return nil
}

func checkValue(decoder *json.Decoder, depth int) error {
	if depth > maxDepth {
		return ErrDepth
	}
	token, err := decoder.Token()
	if err != nil {
		return ErrNotJSON
	}
	opening, ok := token.(json.Delim)
	if !ok {
		return nil
	}
	seen := map[string]bool{}
	for decoder.More() {
		if opening == '{' {
			key, err := decoder.Token()
			if err != nil {
				return ErrNotJSON
			}
			name, ok := key.(string)
			if !ok {
				return ErrNotJSON
			}
			if seen[name] {
				return ErrDuplicateKey
			}
			seen[name] = true
		}
		if err := checkValue(decoder, depth+1); err != nil {
			return err
		}
	}
	if _, err := decoder.Token(); err != nil {
		return ErrNotJSON
	}
	return nil
}
