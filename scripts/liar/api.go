package liar

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	lib "github.com/gagliardetto/solana-go"
	"github.com/mr-tron/base58"

	signerv1 "countersign/proto/signer/v1"
	"countersign/scripts/sandbox/bagsandbox"
)

// ask calls the Bags API as mcpd does.
func (l *Liar) ask(ctx context.Context, method, path, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, l.API.URL()+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("x-api-key", l.APIKey)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	var envelope struct {
		Success  bool
		Response json.RawMessage
	}
	if err := json.Unmarshal(raw, &envelope); err != nil || !envelope.Success {
		return fmt.Errorf("%s %s: %.300s", method, path, raw)
	}
	return json.Unmarshal(envelope.Response, into)
}

// trade is a swap of the sandbox, dishonest in the way that the mode says, with
// the bounds that an honest caller would state.
func (l *Liar) trade(ctx context.Context, in, out lib.PublicKey, units uint64, m bagsandbox.Misbehaviour) (offer, error) {
	l.api.Lock()
	defer l.api.Unlock()
	if m.Mode != "" {
		if err := l.API.Misbehave(m); err != nil {
			return offer{}, err
		}
	}
	var quoted json.RawMessage
	if err := l.ask(ctx, http.MethodGet, "/trade/quote?"+url.Values{
		"inputMint": {in.String()}, "outputMint": {out.String()}, "amount": {strconv.FormatUint(units, 10)},
		"slippageMode": {"manual"}, "slippageBps": {"100"},
	}.Encode(), "", &quoted); err != nil {
		return offer{}, err
	}
	var quote struct{ MinOutAmount string }
	if err := json.Unmarshal(quoted, &quote); err != nil {
		return offer{}, err
	}
	least, err := strconv.ParseUint(quote.MinOutAmount, 10, 64)
	if err != nil {
		return offer{}, err
	}
	var answer struct{ SwapTransaction string }
	if err := l.ask(ctx, http.MethodPost, "/trade/swap", `{"quoteResponse":`+string(quoted)+`,"userPublicKey":"`+l.World.Wallet+`"}`, &answer); err != nil {
		return offer{}, err
	}
	raw, err := base58.Decode(answer.SwapTransaction)
	return l.argue(offer{
		flow: signerv1.Flow_FLOW_SWAP, batch: [][]byte{raw},
		bounds: &signerv1.Bounds{
			MaxOut: assets(in, units), MinIn: assets(out, least), MaxFee: 50_000, MaxRent: 2 * 2_100_000,
			Programs: [][]byte{lib.MustPublicKeyFromBase58(l.World.PoolProgram).Bytes()},
		},
	}), err
}

// claim is a claim of the sandbox in the given style.
func (l *Liar) claim(ctx context.Context, b bagsandbox.Behaviour, m bagsandbox.Misbehaviour, lamports uint64) (offer, error) {
	l.api.Lock()
	defer l.api.Unlock()
	defer l.API.Reset()
	if err := l.API.SetBehaviour(b); err != nil {
		return offer{}, err
	}
	if m.Mode != "" {
		if err := l.API.Misbehave(m); err != nil {
			return offer{}, err
		}
	}
	var answers []struct{ Tx string }
	// Another claim that lands in between leaves nothing to be claimed.
	for attempt := range 3 {
		if err := l.API.Accrue(ctx, lamports); err != nil {
			return offer{}, err
		}
		err := l.ask(ctx, http.MethodPost, "/token-launch/claim-txs/v3",
			`{"feeClaimer":"`+l.World.Wallet+`","tokenMint":"`+l.World.TokenMint+`"}`, &answers)
		if err == nil {
			break
		}
		if attempt == 2 {
			return offer{}, err
		}
	}
	o := offer{flow: signerv1.Flow_FLOW_CLAIM, bounds: &signerv1.Bounds{
		MinIn: assets(lib.WrappedSol, 2*lamports), MaxFee: 100_000, MaxRent: 2 * 2_100_000,
		Programs: [][]byte{lib.MustPublicKeyFromBase58(l.World.FeeShareProgram).Bytes()},
	}}
	for _, answer := range answers {
		raw, err := base58.Decode(answer.Tx)
		if err != nil {
			return offer{}, err
		}
		o.batch = append(o.batch, raw)
	}
	return l.argue(o), nil
}

// payment is a transfer to whoever is named, with fees as given.
func (l *Liar) payment(ctx context.Context, to lib.PublicKey, lamports uint64, extra ...lib.Instruction) (offer, error) {
	list := append([]lib.Instruction{unitLimit(200_000)}, extra...)
	raw, err := l.compile(ctx, l.people.wallet, append(list, transfer(l.people.wallet, to, lamports))...)
	return l.argue(offer{
		flow: signerv1.Flow_FLOW_TRANSFER, batch: [][]byte{raw},
		bounds: &signerv1.Bounds{MaxOut: assets(lib.WrappedSol, lamports), MaxFee: 50_000, Recipients: [][]byte{to.Bytes()}},
	}), err
}

// tokenPayment sends tokens into the associated account of whoever is named,
// which is opened at the wallet's cost.
func (l *Liar) tokenPayment(ctx context.Context, mint, to lib.PublicKey, units uint64, extra ...lib.Instruction) (offer, error) {
	list := append([]lib.Instruction{unitLimit(200_000)}, extra...)
	raw, err := l.compile(ctx, l.people.wallet, append(list, l.people.open(to, mint), l.people.send(mint, to, units, l.decimals(mint.String())))...)
	return l.argue(offer{
		flow: signerv1.Flow_FLOW_TRANSFER, batch: [][]byte{raw},
		bounds: &signerv1.Bounds{MaxOut: assets(mint, units), MaxFee: 50_000, MaxRent: 4_000_000, Recipients: [][]byte{to.Bytes()}},
	}), err
}
