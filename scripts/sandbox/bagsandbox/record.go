package bagsandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Request is one request as it arrived on the API port. A credential is never
// kept: its header holds "sha256:" and the digest of the value.
type Request struct {
	Sequence int         `json:"sequence"`
	Time     time.Time   `json:"time"`
	Method   string      `json:"method"`
	Path     string      `json:"path"`
	Query    string      `json:"query"`
	Header   http.Header `json:"header"`
	// Body is the body byte for byte.
	Body []byte `json:"body_base64"`
	// BodyText is the same where it is text, for reading.
	BodyText string `json:"body"`
	// Status is what was answered, 0 while the answer is under way.
	Status int `json:"status"`
	// Mode is the misbehaviour that was served, empty for an honest answer.
	Mode Mode `json:"mode,omitempty"`
}

// Digest is how a credential appears in a recorded header.
func Digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// credentials are the headers whose values are recorded as digests.
var credentials = []string{"X-Api-Key", "Authorization", "Cookie", "Proxy-Authorization"}

type recorder struct {
	mu       sync.Mutex // guards what follows
	sequence int
	requests []*Request
}

func (r *recorder) add(request *http.Request, body []byte) *Request {
	header := request.Header.Clone()
	for _, name := range credentials {
		for i, value := range header[name] {
			header[name][i] = Digest(value)
		}
	}
	entry := &Request{
		Time:   time.Now().UTC(),
		Method: request.Method,
		Path:   request.URL.EscapedPath(),
		Query:  request.URL.RawQuery,
		Header: header,
		Body:   slices.Clone(body),
	}
	if utf8.Valid(body) {
		entry.BodyText = string(body)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sequence++
	entry.Sequence = r.sequence
	r.requests = append(r.requests, entry)
	return entry
}

func (r *recorder) finish(entry *Request, status int, mode Mode) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entry.Status, entry.Mode = status, mode
}

func (r *recorder) list() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := make([]Request, len(r.requests))
	for i, entry := range r.requests {
		list[i] = *entry
	}
	return list
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = nil
}

// statusWriter remembers the status that went out.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// endpointOf is the name of a path in this package: without the base.
func endpointOf(path string) string { return strings.TrimPrefix(path, basePath+"/") }
