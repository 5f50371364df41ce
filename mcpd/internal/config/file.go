package config

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// keys are all keys there are.
var keys = map[string]kind{
	"signer.socket":              kindText,
	"signer.uids":                kindList,
	"bags.base_url":              kindText,
	"bags.api_key":               kindText,
	"rpc.url":                    kindText,
	"caps.per_transaction":       kindText,
	"caps.per_session":           kindText,
	"allow_uncapped_token_swaps": kindFlag,
	"gate.mint":                  kindText,
	"gate.minimum":               kindText,
	"log.level":                  kindText,
}

type kind uint8

const (
	kindText kind = iota + 1
	kindFlag
	kindList
	kindOther
)

// value is one setting and where it comes from.
type value struct {
	kind   kind
	text   string
	list   []string
	source string
}

// parse reads the file key by key: the library's own decoding takes keys in
// any case, and the last word of a policy must not depend on that.
func parse(path string, raw []byte) (map[string]value, error) {
	var probe map[string]any
	if err := toml.Unmarshal(raw, &probe); err != nil {
		if broken, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := broken.Position()
			return nil, at(path, line, "not valid TOML, or a key appears twice")
		}
		return nil, &Error{Source: path, Text: "not valid TOML"}
	}
	parser := unstable.Parser{}
	parser.Reset(raw)
	values := map[string]value{}
	var problems []error
	table := ""
	for parser.NextExpression() {
		node := parser.Expression()
		line := lineOf(&parser, raw, node)
		name := dotted(node)
		switch node.Kind {
		case unstable.Table:
			table = name + "."
			if !slices.ContainsFunc(slices.Collect(maps.Keys(keys)), func(key string) bool { return strings.HasPrefix(key, table) }) {
				problems = append(problems, at(path, line, "there is no table of this name; known are "+knownTables()))
			}
		case unstable.KeyValue:
			name = table + name
			if _, known := keys[name]; !known {
				problems = append(problems, at(path, line, unknownKey(name)))
				continue
			}
			values[name] = valueOf(node.Value(), fmt.Sprintf("%s:%d", path, line))
		default:
			problems = append(problems, at(path, line, "only plain tables and keys are used here"))
		}
	}
	return values, errors.Join(problems...)
}

func at(path string, line int, text string) error {
	return &Error{Source: fmt.Sprintf("%s:%d", path, line), Text: text}
}

// lineOf counts lines up to the first key of an expression.
func lineOf(parser *unstable.Parser, raw []byte, node *unstable.Node) int {
	iterator := node.Key()
	if !iterator.Next() {
		return 1
	}
	return 1 + bytes.Count(raw[:parser.Range(iterator.Node().Data).Offset], []byte("\n"))
}

func dotted(node *unstable.Node) string {
	var parts []string
	for iterator := node.Key(); iterator.Next(); {
		parts = append(parts, string(iterator.Node().Data))
	}
	return strings.Join(parts, ".")
}

func unknownKey(name string) string {
	for key := range keys {
		if strings.EqualFold(key, name) {
			return "keys are lower case: write " + key
		}
	}
	return "there is no key of this name; known are " + strings.Join(slices.Sorted(maps.Keys(keys)), ", ")
}

func knownTables() string {
	var names []string
	for key := range keys {
		if table, _, nested := strings.Cut(key, "."); nested && !slices.Contains(names, "["+table+"]") {
			names = append(names, "["+table+"]")
		}
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func valueOf(node *unstable.Node, source string) value {
	switch node.Kind {
	case unstable.String:
		return value{kind: kindText, text: string(node.Data), source: source}
	case unstable.Bool:
		return value{kind: kindFlag, text: string(node.Data), source: source}
	case unstable.Array:
		list := value{kind: kindList, source: source}
		for iterator := node.Children(); iterator.Next(); {
			if child := iterator.Node(); child.Kind != unstable.Comment {
				list.list = append(list.list, string(child.Data))
			}
		}
		return list
	default:
		return value{kind: kindOther, source: source}
	}
}
