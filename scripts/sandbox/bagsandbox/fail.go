package bagsandbox

import (
	"bytes"
	"net/http"
	"strconv"
	"time"
)

// Defaults of the service failures.
const (
	resetSeconds     = 30
	slowMilliseconds = 30_000
	hugeBytes        = 64 << 20
	hourlyLimit      = 1000
)

// fail serves a failure of the service. It reports whether the request has
// been answered.
func (s *Sandbox) fail(w http.ResponseWriter, r *http.Request, m Misbehaviour) (done bool) {
	switch m.Mode {
	case RateLimited:
		rateLimited(w, m)
	case ServerError:
		writeJSON(w, http.StatusInternalServerError, errorBody(textOr(m, "Internal server error")))
	case Unauthorized:
		writeJSON(w, http.StatusUnauthorized, errorBody(textOr(m, "API key has been revoked")))
	case Forbidden:
		writeJSON(w, http.StatusForbidden, errorBody(textOr(m, "Not allowed for this API key")))
	case Slow:
		return !wait(r, time.Duration(m.param(slowMilliseconds))*time.Millisecond)
	case Garbage:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("{\"success\":true,\"response\":\x00\xff<garbage"))
	case Truncated:
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "1000")
		_, _ = w.Write([]byte(`{"success":true,"response":{"requestId":"`))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler) // closes the connection
	case Redirect:
		w.Header().Set("Location", textOr(m, s.origin+"/redirected"))
		w.WriteHeader(http.StatusTemporaryRedirect)
	case Huge:
		huge(w, m.param(hugeBytes))
	case HTMLPage:
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte(textOr(m, "<html><body><h1>502 Bad Gateway</h1></body></html>")))
	}
	return true
}

func textOr(m Misbehaviour, otherwise string) string {
	if m.Text == "" {
		return otherwise
	}
	return m.Text
}

func rateLimited(w http.ResponseWriter, m Misbehaviour) {
	reset := time.Now().Unix() + int64(m.param(resetSeconds))
	w.Header().Set("X-RateLimit-Limit", strconv.Itoa(hourlyLimit))
	w.Header().Set("X-RateLimit-Remaining", "0")
	w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(reset, 10))
	writeJSON(w, http.StatusTooManyRequests, struct {
		envelope
		Limit     int   `json:"limit"`
		Remaining int   `json:"remaining"`
		ResetTime int64 `json:"resetTime"`
	}{errorBody(textOr(m, "Rate limit exceeded")), hourlyLimit, 0, reset})
}

// wait reports whether the time has passed with the client still there.
func wait(r *http.Request, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-r.Context().Done():
		return false
	}
}

// huge writes one JSON string of about size bytes, valid to the last.
func huge(w http.ResponseWriter, size uint64) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(`{"success":true,"response":"`))
	chunk := bytes.Repeat([]byte("a"), 64<<10)
	for written := uint64(0); written < size; written += uint64(len(chunk)) {
		if _, err := w.Write(chunk); err != nil {
			return
		}
	}
	_, _ = w.Write([]byte(`"}`))
}
