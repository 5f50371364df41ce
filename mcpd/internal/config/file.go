package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"countersign/shared/stricttoml"
)

// file mirrors mcpd.toml. A pointer is nil where the file is silent.
type file struct {
	AllowUncappedSwaps *bool `toml:"allow_uncapped_token_swaps"`
	Signer             struct {
		Socket *string   `toml:"socket"`
		UIDs   *[]uint32 `toml:"uids"`
	} `toml:"signer"`
	Bags struct {
		BaseURL *string `toml:"base_url"`
		APIKey  *string `toml:"api_key"`
	} `toml:"bags"`
	RPC struct {
		URLs *[]string `toml:"urls"`
	} `toml:"rpc"`
	Caps struct {
		PerTransaction *string `toml:"per_transaction"`
		PerSession     *string `toml:"per_session"`
	} `toml:"caps"`
	Gate struct {
		Mint    *string `toml:"mint"`
		Minimum *string `toml:"minimum"`
	} `toml:"gate"`
	Log struct {
		Level *string `toml:"level"`
	} `toml:"log"`
}

// keys are all keys there are, and how the text of a variable becomes the value
// of each.
var keys = map[string]func(*file, string) error{
	"allow_uncapped_token_swaps": flag(func(f *file) **bool { return &f.AllowUncappedSwaps }),
	"signer.socket":              text(func(f *file) **string { return &f.Signer.Socket }),
	"signer.uids":                numbers(func(f *file) **[]uint32 { return &f.Signer.UIDs }),
	"bags.base_url":              text(func(f *file) **string { return &f.Bags.BaseURL }),
	"bags.api_key":               text(func(f *file) **string { return &f.Bags.APIKey }),
	"rpc.urls":                   texts(func(f *file) **[]string { return &f.RPC.URLs }),
	"caps.per_transaction":       text(func(f *file) **string { return &f.Caps.PerTransaction }),
	"caps.per_session":           text(func(f *file) **string { return &f.Caps.PerSession }),
	"gate.mint":                  text(func(f *file) **string { return &f.Gate.Mint }),
	"gate.minimum":               text(func(f *file) **string { return &f.Gate.Minimum }),
	"log.level":                  text(func(f *file) **string { return &f.Log.Level }),
}

func text(field func(*file) **string) func(*file, string) error {
	return func(f *file, value string) error {
		*field(f) = &value
		return nil
	}
}

func texts(field func(*file) **[]string) func(*file, string) error {
	return func(f *file, value string) error {
		list := make([]string, 0, 1)
		for each := range strings.SplitSeq(value, ",") {
			list = append(list, strings.TrimSpace(each))
		}
		*field(f) = &list
		return nil
	}
}

func flag(field func(*file) **bool) func(*file, string) error {
	return func(f *file, value string) error {
		if value != "true" && value != "false" {
			return errors.New("must be true or false")
		}
		is := value == "true"
		*field(f) = &is
		return nil
	}
}

func numbers(field func(*file) **[]uint32) func(*file, string) error {
	return func(f *file, value string) error {
		list := make([]uint32, 0, 1)
		for each := range strings.SplitSeq(value, ",") {
			number, err := strconv.ParseUint(strings.TrimSpace(each), 10, 32)
			if err != nil {
				return errors.New("must be account numbers with commas between them")
			}
			list = append(list, uint32(number))
		}
		*field(f) = &list
		return nil
	}
}

// parse reads the file at path.
func parse(path string, raw []byte) (file, *stricttoml.Positions, error) {
	var f file
	positions, err := stricttoml.Decode(raw, &f)
	if err == nil {
		return f, positions, nil
	}
	found, ok := errors.AsType[stricttoml.Errors](err)
	if !ok {
		return file{}, nil, &Error{Source: path, Text: "not valid TOML"}
	}
	problems := make([]error, 0, len(found))
	for _, each := range found {
		problems = append(problems, at(path, each))
	}
	return file{}, nil, errors.Join(problems...)
}

// at is a fault of the file at path.
func at(path string, found stricttoml.Error) *Error {
	if found.Line == 0 {
		return &Error{Source: path, Text: found.Text}
	}
	return &Error{Source: fmt.Sprintf("%s:%d:%d", path, found.Line, found.Column), Text: found.Text}
}
