// Package stricttoml reads configuration files so that nothing in them is
// ignored: an unknown key, a key in other case, a value of another type is an
// error with its line and column. Any package may import it.
package stricttoml

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// Error is one fault of a file.
type Error struct {
	// Line and Column count from 1; both are 0 where the fault is of the file
	// as a whole.
	Line   int
	Column int
	Text   string
}

func (e Error) String() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Text)
}

// Errors are all faults found, in the order of the file.
type Errors []Error

func (e Errors) Error() string {
	texts := make([]string, len(e))
	for i, each := range e {
		texts[i] = each.String()
	}
	return strings.Join(texts, "\n")
}

// Positions says where each key of a file stands, so that a later check can
// point at it.
type Positions struct{ at map[string]unstable.Position }

// Error makes an error about the key at path, such as "caps.per_day" or
// "mint[1].name". A key that the file does not have is blamed on its table.
func (p *Positions) Error(path, format string, args ...any) Error {
	e := Error{Text: fmt.Sprintf("%s: %s", path, fmt.Sprintf(format, args...))}
	for at := path; at != ""; {
		if position, ok := p.at[at]; ok {
			e.Line, e.Column = position.Line, position.Column
			return e
		}
		cut := strings.LastIndexByte(at, '.')
		at = at[:max(cut, 0)]
	}
	return e
}

// Decode reads raw into the struct that into points to, and nothing more than
// its fields. The error, if any, is of type Errors.
func Decode(raw []byte, into any) (*Positions, error) {
	positions, found := walk(raw)
	if len(found) > 0 {
		return nil, found
	}
	decoder := toml.NewDecoder(strings.NewReader(string(raw)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return nil, inWords(err)
	}
	return positions, nil
}

func inWords(err error) Errors {
	var unknown *toml.StrictMissingError
	var one *toml.DecodeError
	switch {
	case errors.As(err, &unknown):
		var found Errors
		for _, e := range unknown.Errors {
			line, column := e.Position()
			found = append(found, Error{line, column, fmt.Sprintf("unknown key %q", strings.Join(e.Key(), "."))})
		}
		return found
	case errors.As(err, &one):
		line, column := one.Position()
		return Errors{{line, column, withoutGo(one.Error())}}
	}
	return Errors{{Text: withoutGo(err.Error())}}
}

// withoutGo keeps of a decoder's message what speaks of the file: behind
// " into " it names the Go type that was to be filled.
func withoutGo(message string) string {
	kept, _, _ := strings.Cut(strings.TrimPrefix(message, "toml: "), " into ")
	if rest, found := strings.CutPrefix(kept, "cannot decode TOML "); found {
		return "the value has the wrong type: it is a TOML " + rest
	}
	return kept
}

// walk notes where keys stand and refuses those that the decoder, which takes
// keys in any case, would let pass for another.
func walk(raw []byte) (*Positions, Errors) {
	positions := &Positions{at: make(map[string]unstable.Position)}
	var found Errors
	var parser unstable.Parser
	parser.Reset(raw)
	prefix := ""
	tables := make(map[string]int)
	for parser.NextExpression() {
		node := parser.Expression()
		path, problems := keyPath(&parser, node)
		found = append(found, problems...)
		switch node.Kind {
		case unstable.Table:
			prefix = path + "."
			positions.note(&parser, node, path)
		case unstable.ArrayTable:
			index := tables[path]
			tables[path]++
			path = fmt.Sprintf("%s[%d]", path, index)
			prefix = path + "."
			positions.note(&parser, node, path)
		case unstable.KeyValue:
			positions.note(&parser, node, prefix+path)
			found = append(found, positions.inline(&parser, node.Value(), prefix+path)...)
		default:
		}
	}
	if err := parser.Error(); err != nil {
		// The decoder words the same syntax error with its position.
		found = nil
	}
	slices.SortStableFunc(found, func(a, b Error) int { return a.Line - b.Line })
	return positions, found
}

func (p *Positions) note(parser *unstable.Parser, node *unstable.Node, path string) {
	keys := node.Key()
	if keys.Next() {
		p.at[path] = parser.Shape(keys.Node().Raw).Start
	}
}

// keyPath joins the parts of an expression's key and checks each.
func keyPath(parser *unstable.Parser, node *unstable.Node) (string, Errors) {
	if node.Kind != unstable.KeyValue && node.Kind != unstable.Table && node.Kind != unstable.ArrayTable {
		return "", nil
	}
	var parts []string
	var found Errors
	for keys := node.Key(); keys.Next(); {
		part := keys.Node()
		parts = append(parts, string(part.Data))
		if problem, bad := otherCase(parser, part); bad {
			found = append(found, problem)
		}
	}
	return strings.Join(parts, "."), found
}

// inline notes and checks the keys of tables inside a value that stands at path.
func (p *Positions) inline(parser *unstable.Parser, value *unstable.Node, path string) Errors {
	var found Errors
	index := 0
	for children := value.Children(); children.Next(); {
		child := children.Node()
		if child.Kind == unstable.KeyValue {
			name, problems := keyPath(parser, child)
			found = append(found, problems...)
			p.note(parser, child, path+"."+name)
			found = append(found, p.inline(parser, child.Value(), path+"."+name)...)
			continue
		}
		found = append(found, p.inline(parser, child, fmt.Sprintf("%s[%d]", path, index))...)
		index++
	}
	return found
}

func otherCase(parser *unstable.Parser, key *unstable.Node) (Error, bool) {
	text := string(key.Data)
	if text == strings.ToLower(text) {
		return Error{}, false
	}
	start := parser.Shape(key.Raw).Start
	return Error{start.Line, start.Column, fmt.Sprintf("unknown key %q (keys are written in lower case)", text)}, true
}
