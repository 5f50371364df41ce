package bagsandbox

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
)

// controlHandler is the control port:
//
//	GET    /world       the world's addresses
//	GET    /requests    the recorded requests
//	GET    /modes       every mode, and what is pending
//	POST   /modes       a Misbehaviour
//	GET    /behaviour   the Behaviour
//	PUT    /behaviour   a Behaviour, fields left out stay as they are
//	POST   /endow       {"mint": …, "amount": "base units"}
//	POST   /accrue      {"lamports": "…"}, fees to claim in each vault from now on
//	POST   /trigger     {"pulled": true}, what bait_and_switch waits for
//	POST   /reset       forget requests, pending modes and behaviour
func (s *Sandbox) controlHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /world", show(func() any { return s.World() }))
	mux.HandleFunc("GET /requests", show(func() any { return s.Requests() }))
	mux.HandleFunc("GET /modes", show(func() any { return map[string]any{"modes": Modes(), "pending": s.Pending()} }))
	mux.HandleFunc("GET /behaviour", show(func() any { return s.Behaviour() }))
	mux.HandleFunc("POST /modes", change(func(_ *http.Request, m Misbehaviour) error { return s.Misbehave(m) }))
	mux.HandleFunc("PUT /behaviour", func(w http.ResponseWriter, r *http.Request) {
		next := s.Behaviour()
		err := decodeControl(r, &next)
		if err == nil {
			err = s.SetBehaviour(next)
		}
		finish(w, err)
	})
	mux.HandleFunc("POST /endow", change(func(r *http.Request, e struct{ Mint, Amount string }) error {
		amount, err := strconv.ParseUint(e.Amount, 10, 64)
		if err != nil {
			return errors.New("amount must be an integer of base units, as text")
		}
		return s.Endow(r.Context(), e.Mint, amount)
	}))
	mux.HandleFunc("POST /accrue", change(func(r *http.Request, a struct{ Lamports string }) error {
		lamports, err := strconv.ParseUint(a.Lamports, 10, 64)
		if err != nil {
			return errors.New("lamports must be an integer, as text")
		}
		return s.Accrue(r.Context(), lamports)
	}))
	mux.HandleFunc("POST /trigger", change(func(r *http.Request, t struct{ Pulled bool }) error {
		return s.Trigger(r.Context(), t.Pulled)
	}))
	mux.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		s.Reset()
		finish(w, nil)
	})
	return mux
}

func show(what func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, http.StatusOK, what()) }
}

func change[T any](apply func(*http.Request, T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var asked T
		if err := decodeControl(r, &asked); err != nil {
			finish(w, err)
			return
		}
		finish(w, apply(r, asked))
	}
}

func decodeControl(r *http.Request, into any) error {
	decoder := json.NewDecoder(io.LimitReader(r.Body, maxBody))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}

func finish(w http.ResponseWriter, err error) {
	if err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, struct{}{})
}
