// Package logging makes the loggers of both daemons: structured attributes to
// a writer that is never stdout, with secrets taken out by default. Any
// package may import it for the attribute keys; app makes the logger.
//
// It promises that a value that looks like a private key, a credential or an
// address with a credential in it does not pass, whatever attribute or message
// carries it. It is a net, not a licence: secrets are not to be logged.
package logging

import (
	"context"
	"encoding"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// New makes a logger of lines of text, of at least the given level.
func New(out io.Writer, level slog.Leveler) *slog.Logger {
	return slog.New(&redactor{inner: slog.NewTextHandler(out, &slog.HandlerOptions{Level: level})})
}

// Error is an error with the cause that its own text leaves out, as a fault's
// does. Causes below that one stay out: they may hold the address of a node.
func Error(err error) slog.Attr {
	text := err.Error()
	if cause := errors.Unwrap(err); cause != nil && !strings.Contains(text, cause.Error()) {
		text += ": " + cause.Error()
	}
	return slog.String(KeyError, text)
}

// ParseLevel reads a level's name.
func ParseLevel(name string) (slog.Level, error) {
	switch name {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, errors.New("log level must be debug, info, warn or error")
}

// redactor cleans every attribute before the inner handler sees it.
type redactor struct{ inner slog.Handler }

func (r *redactor) Enabled(ctx context.Context, level slog.Level) bool {
	return r.inner.Enabled(ctx, level)
}

func (r *redactor) Handle(ctx context.Context, record slog.Record) error {
	clean := slog.NewRecord(record.Time, record.Level, Redact(record.Message), record.PC)
	record.Attrs(func(attr slog.Attr) bool {
		clean.AddAttrs(redactAttr(attr))
		return true
	})
	return r.inner.Handle(ctx, clean)
}

func (r *redactor) WithAttrs(attrs []slog.Attr) slog.Handler {
	clean := make([]slog.Attr, 0, len(attrs))
	for _, attr := range attrs {
		clean = append(clean, redactAttr(attr))
	}
	return &redactor{inner: r.inner.WithAttrs(clean)}
}

func (r *redactor) WithGroup(name string) slog.Handler {
	return &redactor{inner: r.inner.WithGroup(name)}
}

// Redacted stands where a secret was.
const Redacted = "[redacted]"

func redactAttr(attr slog.Attr) slog.Attr {
	if secretKey(attr.Key) {
		return slog.String(attr.Key, Redacted)
	}
	value := attr.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		return slog.String(attr.Key, redactUnder(attr.Key, value.String()))
	case slog.KindGroup:
		members := value.Group()
		clean := make([]slog.Attr, 0, len(members))
		for _, member := range members {
			clean = append(clean, redactAttr(member))
		}
		return slog.Attr{Key: attr.Key, Value: slog.GroupValue(clean...)}
	case slog.KindAny:
		return slog.String(attr.Key, redactUnder(attr.Key, anyText(value.Any())))
	case slog.KindBool, slog.KindDuration, slog.KindFloat64, slog.KindInt64, slog.KindUint64, slog.KindTime, slog.KindLogValuer:
		return slog.Attr{Key: attr.Key, Value: value}
	}
	return slog.String(attr.Key, Redacted)
}

// redactUnder lets a transaction's signature through under its own key: it has
// a private key's length but is public.
func redactUnder(key, text string) string {
	if key == KeySignature && isBase58(text) {
		return text
	}
	return Redact(text)
}

// anyText writes a value the way it chooses to show itself. Bytes and structs
// that choose nothing are named by type only: their fields may be secret.
func anyText(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case error:
		return v.Error()
	case fmt.Stringer:
		return v.String()
	case encoding.TextMarshaler:
		if text, err := v.MarshalText(); err == nil {
			return string(text)
		}
	case []string:
		return strings.Join(v, " ")
	}
	return fmt.Sprintf("%T", value)
}
