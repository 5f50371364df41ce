package submit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"countersign/shared/jsonrpc"
	"countersign/shared/solana"
	"countersign/shared/txerror"
)

// node is one RPC endpoint. A node that asks for rest gets it.
type node struct {
	client *jsonrpc.Client

	mu   sync.Mutex // guards rest
	rest time.Time
}

// maxRest bounds how long a node can keep us from asking: a transaction lives
// for about a minute.
const maxRest = 15 * time.Second

// errResting is a call that was not made because the node asked us to wait.
var errResting = errors.New("the RPC node asked for a pause")

// maxAnswer bounds one answer: a transaction with its logs is far smaller.
const maxAnswer = 2 << 20

func newNode(endpoint string, options Options) (*node, error) {
	client, err := jsonrpc.New(endpoint, jsonrpc.Options{Timeout: options.Timeout, MaxResponse: maxAnswer, Transport: options.Transport})
	if err != nil {
		return nil, err
	}
	return &node{client: client}, nil
}

func (n *node) call(ctx context.Context, method string, params []any, result any) error {
	n.mu.Lock()
	resting := time.Now().Before(n.rest)
	n.mu.Unlock()
	if resting {
		return errResting
	}
	err := n.client.Call(ctx, method, params, result)
	if answered := new(jsonrpc.HTTPError); errors.As(err, &answered) && answered.Status == http.StatusTooManyRequests {
		n.mu.Lock()
		n.rest = time.Now().Add(min(answered.RetryAfter, maxRest))
		n.mu.Unlock()
	}
	return err
}

// send broadcasts the bytes. Preflight runs at the commitment that blockhashes
// are taken from: at a stricter one a fresh blockhash would not be known yet.
func (n *node) send(ctx context.Context, wire string, id solana.Signature, skipPreflight bool) error {
	var got string
	err := n.call(ctx, "sendTransaction", []any{wire, map[string]any{
		"encoding": "base64", "skipPreflight": skipPreflight, "preflightCommitment": "confirmed", "maxRetries": 0,
	}}, &got)
	if err == nil && got != id.String() {
		return fmt.Errorf("%w: another signature than the transaction's", jsonrpc.ErrBadAnswer)
	}
	return err
}

// The codes of sendTransaction by which a node says that it forwarded nothing.
const (
	codePreflight = -32002
	codeSignature = -32003
	codeParams    = -32602
)

// verdict is what the answer to a send says.
type verdict uint8

const (
	// maySend: it was accepted, or nobody knows.
	maySend verdict = iota
	// neverLeft: the request did not reach the node.
	neverLeft
	// saysRefused: the node says that it forwarded nothing. It has the bytes.
	saysRefused
	// isLanded: the node knows the transaction as executed.
	isLanded
)

func classify(err error) verdict {
	if err == nil {
		return maySend
	}
	if errors.Is(err, errResting) {
		return neverLeft
	}
	if broken := new(jsonrpc.TransportError); errors.As(err, &broken) {
		if broken.Sent {
			return maySend
		}
		return neverLeft
	}
	answered := new(jsonrpc.RPCError)
	if !errors.As(err, &answered) {
		return maySend
	}
	switch answered.Code {
	case codeSignature, codeParams:
		return saysRefused
	case codePreflight:
		_, raw := preflightError(err, nil)
		switch {
		case raw == nil:
			return maySend
		case txerror.IsAlreadyProcessed(raw):
			return isLanded
		}
		return saysRefused
	}
	return maySend
}

// preflightError reads why a preflight failed. raw is nil where there is no
// such reason.
func preflightError(err error, programs []solana.PublicKey) (txerror.Error, json.RawMessage) {
	answered := new(jsonrpc.RPCError)
	if !errors.As(err, &answered) || answered.Code != codePreflight {
		return txerror.Error{}, nil
	}
	var data struct {
		Err  json.RawMessage `json:"err"`
		Logs []string        `json:"logs"`
	}
	if json.Unmarshal(answered.Data, &data) != nil || txerror.IsNone(data.Err) {
		return txerror.Error{}, nil
	}
	return txerror.Describe(data.Err, data.Logs, programs), data.Err
}
