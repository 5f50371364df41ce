package explain_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode/decodetest"
	"countersign/signerd/internal/effects"
	"countersign/signerd/internal/explain"
)

// besideLiar has two nodes explain, in either order: one is honest, and the
// answers of the other are changed.
func (s scene) besideLiar(t *testing.T, lie func(method string, params, result json.RawMessage) json.RawMessage, test func(scene)) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		var call struct {
			Method string
			Params json.RawMessage
		}
		_ = json.Unmarshal(body, &call)
		response, err := http.Post(s.net.RPCURL, "application/json", bytes.NewReader(body))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		var envelope map[string]json.RawMessage
		_ = json.NewDecoder(response.Body).Decode(&envelope)
		if envelope["result"] != nil {
			envelope["result"] = lie(call.Method, call.Params, envelope["result"])
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(envelope)
	}))
	t.Cleanup(server.Close)
	for name, nodes := range map[string][]string{"liar first": {server.URL, s.net.RPCURL}, "liar last": {s.net.RPCURL, server.URL}} {
		t.Run(name, func(t *testing.T) {
			s := s.in(t)
			var err error
			s.chain, err = chain.New(nodes, chain.Options{Timeout: 10 * time.Second})
			s.must(err)
			test(s)
		})
	}
}

// asked are the addresses of a call, and shown the accounts of its answer.
func eachAccount(method string, params, result json.RawMessage, change func(key string, many bool, fields map[string]json.RawMessage)) json.RawMessage {
	var pair []json.RawMessage
	var answer map[string]json.RawMessage
	if json.Unmarshal(params, &pair) != nil || json.Unmarshal(result, &answer) != nil {
		return result
	}
	var keys []string
	var list []map[string]json.RawMessage
	var value map[string]json.RawMessage
	switch method {
	case "getMultipleAccounts":
		_ = json.Unmarshal(pair[0], &keys)
		_ = json.Unmarshal(answer["value"], &list)
	case "simulateTransaction":
		var options struct{ Accounts struct{ Addresses []string } }
		_ = json.Unmarshal(pair[1], &options)
		keys = options.Accounts.Addresses
		_ = json.Unmarshal(answer["value"], &value)
		_ = json.Unmarshal(value["accounts"], &list)
	default:
		return result
	}
	for i, key := range keys {
		if i < len(list) && list[i] != nil {
			change(key, len(keys) > 1, list[i])
		}
	}
	changed, _ := json.Marshal(list)
	if value != nil {
		value["accounts"] = changed
		changed, _ = json.Marshal(value)
	}
	answer["value"] = changed
	changed, _ = json.Marshal(answer)
	return changed
}

func withData(fields map[string]json.RawMessage, change func([]byte)) {
	var data []string
	_ = json.Unmarshal(fields["data"], &data)
	raw, _ := base64.StdEncoding.DecodeString(data[0])
	change(raw)
	data[0] = base64.StdEncoding.EncodeToString(raw)
	fields["data"], _ = json.Marshal(data)
}

// TestExplainDecimalsAreNoOneNodesWord: a node that tells of three more digits
// behind the point makes a thousand times as much of what was asked for.
func TestExplainDecimalsAreNoOneNodesWord(t *testing.T) {
	s := startScene(t)
	s.reset()
	mint := s.key(s.world.TokenMint)
	lie := func(method string, params, result json.RawMessage) json.RawMessage {
		return eachAccount(method, params, result, func(key string, many bool, fields map[string]json.RawMessage) {
			if key == mint.String() && many {
				withData(fields, func(data []byte) { data[44] = 9 })
			}
		})
	}
	from := solana.AssociatedTokenAddress(wallet, mint, solana.TokenProgram)
	to := solana.AssociatedTokenAddress(friend, mint, solana.TokenProgram)
	s.besideLiar(t, lie, func(s scene) {
		tx := decodetest.Legacy(wallet, s.latest(), decodetest.CreateIdempotent(wallet, friend, mint, solana.TokenProgram),
			decodetest.TransferChecked(solana.TokenProgram, from, mint, to, wallet, 1_000_000_000, 6)) // 1000 STUB
		report := s.explain(tx.Marshal(), flow(effects.Transfer), s.out("1 STUB"), func(r *explain.Request) {
			r.To = []solana.PublicKey{friend}
			r.Book = []effects.Recipient{{Name: "friend", Address: friend}}
		})
		if report.Decision == explain.Allowed {
			s.t.Errorf("1 STUB was asked for, and paying 1000 is allowed; it is told as %+v", report.Payments)
		}
		for _, payment := range report.Payments {
			if payment.Amount.Amount != "" && payment.Amount.Amount != "1000" {
				s.t.Errorf("1000 STUB are told as %s", payment.Amount)
			}
		}
	})
}

// TestExplainTellsTheWorstSimulation: a node tells of a cheap purchase, and the
// other of what it costs.
func TestExplainTellsTheWorstSimulation(t *testing.T) {
	s := startScene(t)
	s.reset()
	mint := s.key(s.world.TokenMint)
	own := solana.AssociatedTokenAddress(wallet, mint, solana.TokenProgram)
	text, minimum := s.trade(s.world.WSOL, s.world.TokenMint, spend)
	lie := func(method string, params, result json.RawMessage) json.RawMessage {
		if method != "simulateTransaction" {
			return result
		}
		return eachAccount(method, params, result, func(key string, _ bool, fields map[string]json.RawMessage) {
			switch key {
			case wallet.String():
				n, _ := strconv.ParseUint(string(fields["lamports"]), 10, 64)
				fields["lamports"] = json.RawMessage(strconv.FormatUint(n+spend-1000, 10))
			case own.String():
				withData(fields, func(data []byte) { binary.LittleEndian.PutUint64(data[64:], 10*binary.LittleEndian.Uint64(data[64:])) })
			}
		})
	}
	honest := s.explain([]byte(text), s.out("0.05 SOL"), s.arrives(stub(minimum)))
	s.besideLiar(t, lie, func(s scene) {
		report := s.explain([]byte(text), s.out("0.05 SOL"), s.arrives(stub(minimum)))
		if report.Decision != honest.Decision {
			s.t.Logf("decision %s: %+v", report.Decision, report.Verdict)
		}
		got, want := report.Simulation, honest.Simulation
		if len(got.Out) != 1 || got.Out[0].BaseUnits != want.Out[0].BaseUnits || len(got.In) != 1 || got.In[0].BaseUnits != want.In[0].BaseUnits {
			s.t.Errorf("%s: the simulation is told as out %v, in %v; the honest node shows %v and %v", report.Decision, got.Out, got.In, want.Out, want.In)
		}
	})
}
