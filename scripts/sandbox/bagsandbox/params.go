package bagsandbox

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gagliardetto/solana-go"

	"countersign/scripts/sandbox/internal/strictjson"
)

// refusal is an answer other than success: a documented status and a text.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func badRequest(format string, arguments ...any) error {
	return &refusal{status: http.StatusBadRequest, text: fmt.Sprintf(format, arguments...)}
}

func notFound(format string, arguments ...any) error {
	return &refusal{status: http.StatusNotFound, text: fmt.Sprintf(format, arguments...)}
}

// param is one query parameter.
type param struct {
	name     string
	optional bool
	check    func(string) error
}

// readQuery takes the parameters apart. A name that is unknown, repeated or
// missing, and a value of another form, are refused; so is an empty value,
// which no client sends on purpose.
func readQuery(raw string, params []param) (map[string]string, error) {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return nil, badRequest("query cannot be read")
	}
	declared := map[string]bool{}
	query := map[string]string{}
	for _, p := range params {
		declared[p.name] = true
		given, present := values[p.name]
		switch {
		case !present && p.optional:
			continue
		case !present:
			return nil, badRequest("%s is required", p.name)
		case len(given) > 1:
			return nil, badRequest("%s is repeated", p.name)
		}
		if err := p.check(given[0]); err != nil {
			return nil, badRequest("%s %s", p.name, err)
		}
		query[p.name] = given[0]
	}
	for name := range values {
		if !declared[name] {
			return nil, badRequest("unknown query parameter %q", name)
		}
	}
	return query, nil
}

func readBody(raw []byte, fields strictjson.Fields) (map[string]json.RawMessage, error) {
	body, err := strictjson.Decode(raw, fields)
	if err != nil {
		return nil, badRequest("%s", err)
	}
	return body, nil
}

func isAddress(text string) error {
	if _, err := address(text); err != nil {
		return fmt.Errorf("must be a base58 address of 32 bytes")
	}
	return nil
}

// longestAddress is the length of 32 bytes in base58; the decoder is quadratic.
const longestAddress = 44

func address(text string) (solana.PublicKey, error) {
	if len(text) > longestAddress {
		return solana.PublicKey{}, fmt.Errorf("address is too long")
	}
	return solana.PublicKeyFromBase58(text)
}

// isInteger accepts plain decimal digits within the bounds.
func isInteger(least, most uint64) func(string) error {
	return func(text string) error {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil || strconv.FormatUint(n, 10) != text || n < least || n > most {
			return fmt.Errorf("must be an integer from %d to %d", least, most)
		}
		return nil
	}
}

func isOneOf(values ...string) func(string) error {
	return func(text string) error {
		if slices.Contains(values, text) {
			return nil
		}
		return fmt.Errorf("must be one of %s", strings.Join(values, ", "))
	}
}

// integer reads a parameter that isInteger has accepted, or the default.
func integer(query map[string]string, name string, otherwise uint64) uint64 {
	text, present := query[name]
	if !present {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("bagsandbox: %s was not checked: %v", name, err))
	}
	return n
}

// key reads a parameter that isAddress has accepted.
func key(text string) solana.PublicKey { return solana.MustPublicKeyFromBase58(text) }
