package worldtest

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"testing"

	lib "github.com/gagliardetto/solana-go"
	"github.com/mr-tron/base58"

	"countersign/shared/solana"
)

// Request is one request as the API received it.
type Request struct {
	Method, Path, Query, Body string
	Key                       string
}

// Bags is a Bags API that quotes at a fixed price and builds transactions.
type Bags struct {
	URL  string
	node *Node

	mu       sync.Mutex // guards the rest
	requests []Request
	mood     Mood
}

// Mood is how the API behaves.
type Mood struct {
	// Rate is base units of the output for one of the input, times 1000.
	Rate uint64
	// Status, where set, is answered to everything, with Headers and Body.
	Status  int
	Headers map[string]string
	Body    string
	// Quote changes the quote before it is sent.
	Quote func(map[string]any)
	// Fat makes as many swaps come out large before one is small again.
	Fat int
	// Claimable is what Token holds for the wallet.
	Claimable uint64
	// Sponsor makes another account the fee payer of claims.
	Sponsor bool
}

func newBags(t testing.TB, node *Node) *Bags {
	bags := &Bags{node: node, mood: Mood{Rate: 20, Claimable: 184_220_911}}
	server := httptest.NewServer(bags)
	t.Cleanup(server.Close)
	bags.URL = server.URL + "/api/v1"
	return bags
}

// Set changes the mood.
func (b *Bags) Set(change func(*Mood)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(&b.mood)
}

// Requests counts what came in.
func (b *Bags) Requests() int { return len(b.Received()) }

// Received returns what came in.
func (b *Bags) Received() []Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]Request(nil), b.requests...)
}

func (b *Bags) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	b.requests = append(b.requests, Request{Method: r.Method, Path: r.URL.Path, Query: r.URL.RawQuery, Body: string(body), Key: r.Header.Get("x-api-key")})
	w.Header().Set("Content-Type", "application/json")
	if b.mood.Status != 0 {
		for name, text := range b.mood.Headers {
			w.Header().Set(name, text)
		}
		w.WriteHeader(b.mood.Status)
		_, _ = io.WriteString(w, b.mood.Body)
		return
	}
	if r.Header.Get("x-api-key") != APIKey {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"success":false,"error":"canary: bad key"}`)
		return
	}
	response, err := b.route(r, body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"success":false,"error":"canary: %s"}`, err)
		return
	}
	_, _ = fmt.Fprintf(w, `{"success":true,"response":%s}`, response)
}

func (b *Bags) route(r *http.Request, body []byte) (string, error) {
	switch r.Method + " " + r.URL.Path {
	case "GET /api/v1/trade/quote":
		return b.quote(r)
	case "POST /api/v1/trade/swap":
		return b.swap(body)
	case "GET /api/v1/token-launch/claimable-positions":
		return fmt.Sprintf(`[{"programId":%q,"isCustomFeeVault":true,"user":%q,"baseMint":%q,"quoteMint":%q,"isMigrated":true,"claimerIndex":0,"totalClaimableLamportsUserShare":%d},
			{"isCustomFeeVault":false,"baseMint":%q,"isMigrated":false,"totalClaimableLamportsUserShare":0}]`,
			solana.FeeShareV2Program, Wallet, Token, solana.WrappedSOL, b.mood.Claimable, Recipient), nil
	case "POST /api/v1/token-launch/claim-txs/v3":
		return b.claim()
	}
	return "", fmt.Errorf("no route %s", r.URL.Path)
}

func (b *Bags) quote(r *http.Request) (string, error) {
	query := r.URL.Query()
	units, err := strconv.ParseUint(query.Get("amount"), 10, 64)
	if err != nil || query.Get("slippageMode") != "manual" {
		return "", fmt.Errorf("bad quote request")
	}
	bps, err := strconv.ParseUint(query.Get("slippageBps"), 10, 64)
	if err != nil {
		return "", err
	}
	out := units * b.mood.Rate / 1000
	least := strconv.FormatUint(out*(10_000-bps)/10_000, 10)
	quote := map[string]any{
		"requestId": "r1", "contextSlot": 9, "inAmount": query.Get("amount"), "inputMint": query.Get("inputMint"), "outputMint": query.Get("outputMint"),
		"outAmount": strconv.FormatUint(out, 10), "minOutAmount": least, "otherAmountThreshold": least, "priceImpactPct": "0.42", "slippageBps": bps,
		"routePlan": []any{map[string]any{"venue": "Pool\u202e \u200bOne"}}, "platformFee": map[string]any{"feeBps": 100},
	}
	if b.mood.Quote != nil {
		b.mood.Quote(quote)
	}
	raw, err := json.Marshal(quote)
	// Odd spacing, so that a re-encoded echo is noticed.
	return "{ " + string(raw[1:]), err
}

func (b *Bags) swap(body []byte) (string, error) {
	var request struct {
		Quote  json.RawMessage  `json:"quoteResponse"`
		Wallet solana.PublicKey `json:"userPublicKey"`
	}
	if err := json.Unmarshal(body, &request); err != nil || request.Wallet != Wallet {
		return "", fmt.Errorf("bad swap request")
	}
	data := []byte{7, 7}
	if b.mood.Fat > 0 {
		b.mood.Fat--
		data = make([]byte, 400)
	}
	raw, err := build(Wallet, solana.DFlowProgram, Token, data)
	return fmt.Sprintf(`{"swapTransaction":%q,"computeUnitLimit":200000,"lastValidBlockHeight":1000,"prioritizationFeeLamports":1000}`, base58.Encode(raw)), err
}

func (b *Bags) claim() (string, error) {
	payer := Wallet
	if b.mood.Sponsor {
		payer = Recipient
	}
	first, err := build(payer, solana.FeeShareV2Program, Token, []byte{7, 7})
	if err != nil {
		return "", err
	}
	text := base58.Encode(first)
	one := fmt.Sprintf(`{"tx":%q,"blockhash":{"blockhash":%q,"lastValidBlockHeight":1000}}`, text, solana.Hash{9})
	return "[" + one + "," + one + "]", nil
}

// build makes a transaction with a priority fee of 1000 lamports, that opens
// the wallet's wrapped SOL account and calls program with data.
func build(payer, program, mint solana.PublicKey, data []byte) ([]byte, error) {
	price := binary.LittleEndian.AppendUint64([]byte{3}, 5000)
	limit := binary.LittleEndian.AppendUint32([]byte{2}, 200_000)
	wsol := solana.AssociatedTokenAddress(Wallet, solana.WrappedSOL, solana.TokenProgram)
	key := func(k solana.PublicKey) lib.PublicKey { return lib.PublicKey(k) }
	instructions := []lib.Instruction{
		lib.NewInstruction(key(solana.ComputeBudgetProgram), nil, limit),
		lib.NewInstruction(key(solana.ComputeBudgetProgram), nil, price),
		lib.NewInstruction(key(solana.AssociatedTokenProgram), lib.AccountMetaSlice{
			lib.NewAccountMeta(key(Wallet), true, true), lib.NewAccountMeta(key(wsol), true, false), lib.NewAccountMeta(key(Wallet), false, false),
			lib.NewAccountMeta(key(solana.WrappedSOL), false, false), lib.NewAccountMeta(key(solana.SystemProgram), false, false), lib.NewAccountMeta(key(solana.TokenProgram), false, false),
		}, []byte{1}),
		lib.NewInstruction(key(program), lib.AccountMetaSlice{
			lib.NewAccountMeta(key(Wallet), true, true), lib.NewAccountMeta(key(wsol), true, false), lib.NewAccountMeta(key(mint), false, false),
		}, data),
	}
	tx, err := lib.NewTransaction(instructions, lib.Hash{9}, lib.TransactionPayer(key(payer)))
	if err != nil {
		return nil, err
	}
	tx.Signatures = make([]lib.Signature, tx.Message.Header.NumRequiredSignatures)
	return tx.MarshalBinary()
}
