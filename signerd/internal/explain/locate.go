package explain

import "fmt"

// Locate says where bytes stop being a transaction: how far its parts could be
// read. It judges nothing, and says nothing about bytes whose parts are all
// there.
func Locate(raw []byte) (string, bool) {
	l := &locator{rest: raw}
	if len(raw) > 0 && raw[0] >= 0x80 {
		return "", false // What comes first says which format it would be.
	}
	l.many("signature", 64)
	if l.failed == "" && len(l.rest) > 0 && l.rest[0] >= 0x80 {
		l.take("the version", 1)
		l.lookups = true
	}
	l.take("the header", 3)
	l.many("account key", 32)
	l.take("the blockhash", 32)
	l.each("instruction", func(what string) {
		l.take("the program of "+what, 1)
		l.bytes("the accounts of " + what)
		l.bytes("the data of " + what)
	})
	if l.lookups {
		l.each("lookup table", func(what string) {
			l.take("the address of "+what, 32)
			l.bytes("the writable indexes of " + what)
			l.bytes("the read-only indexes of " + what)
		})
	}
	if l.failed == "" && len(l.rest) > 0 {
		l.failed = fmt.Sprintf("byte %d: left over behind the last part: %s", l.at, plural(len(l.rest), "byte"))
	}
	return l.failed, l.failed != ""
}

// locator walks over the parts of a transaction.
type locator struct {
	rest    []byte
	at      int
	lookups bool
	failed  string
}

func (l *locator) take(what string, n int) {
	if l.failed != "" {
		return
	}
	if len(l.rest) < n {
		l.failed = fmt.Sprintf("byte %d: the bytes end inside %s, which needs %d and has %d", l.at, what, n, len(l.rest))
		return
	}
	l.rest, l.at = l.rest[n:], l.at+n
}

// count reads a length of one to three bytes.
func (l *locator) count(what string) int {
	n := 0
	for i := range 3 {
		if l.failed != "" {
			return 0
		}
		if len(l.rest) == 0 {
			l.failed = fmt.Sprintf("byte %d: the bytes end before %s", l.at, what)
			return 0
		}
		next := l.rest[0]
		l.take(what, 1)
		n |= int(next&0x7f) << (7 * i)
		if next < 0x80 {
			return n
		}
	}
	l.failed = fmt.Sprintf("byte %d: %s is longer than three bytes", l.at, what)
	return 0
}

func (l *locator) bytes(what string) { l.take(what, l.count("the length of "+what)) }

func (l *locator) many(what string, size int) {
	l.each(what, func(which string) { l.take(which, size) })
}

func (l *locator) each(what string, read func(which string)) {
	n := l.count("the number of " + what + "s")
	for i := 0; i < n && l.failed == ""; i++ {
		read(fmt.Sprintf("%s %d of %d", what, i+1, n))
	}
}
