package chain_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"countersign/shared/alloctest"
	"countersign/shared/fault"
	"countersign/shared/solana"
	"countersign/signerd/internal/chain"
	"countersign/signerd/internal/decode"
	"countersign/signerd/internal/decode/decodetest"
)

// Whatever a node says that a program called is refused, or each account that is
// named in it has the rights that the message gives it, and none where the
// message does not name it.
func FuzzInnerInstructions(f *testing.F) {
	call := raw(decodetest.Transfer(wallet, thief, 5))
	f.Add(`null`)
	f.Add(`[]`)
	f.Add(`[` + one(call) + `]`)
	f.Add(`[` + one(call+`,`+call) + `,` + strings.ReplaceAll(one(call), `"index":0`, `"index":1`) + `]`)
	f.Add(`[{"index":0,"instructions":[{"programIdIndex":2,"accounts":[0,1],"data":"3Bxs","stackHeight":2}]}]`)
	f.Add(`[{"index":0,"instructions":[{"program":"system","programId":"11111111111111111111111111111111","parsed":{"type":"transfer","info":{"lamports":5}}}]}]`)
	f.Add(`[{"index":255,"instructions":[{"programIdIndex":4294967295,"accounts":[-1],"data":"0"}]}]`)
	f.Fuzz(func(t *testing.T, inner string) {
		if !json.Valid([]byte(inner)) || strings.ContainsAny(inner, "\r\n") {
			return
		}
		tx := opaqueTx(t, decodetest.W(thief), decodetest.R(mint))
		named := map[solana.PublicKey]decode.Account{}
		for _, account := range tx.Accounts() {
			named[account.Key] = account
		}
		calls, err := simulated(t, tx, inner)
		if err != nil {
			if fault.From(err).Code == fault.Internal {
				t.Fatalf("not a fault for users: %v", err)
			}
			return
		}
		for _, call := range calls {
			for _, account := range call.Accounts {
				if message := named[account.Key]; account.Signer && !message.Signer || account.Writable && !message.Writable {
					t.Fatalf("%+v gives %s rights that the message does not: %+v", call, account.Key, message)
				}
			}
		}
	})
}

// names is the program that keeps tokens' names.
var names = solana.MustPublicKey("metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s")

// Whatever stands in an account, its names are no longer than it is, and cost
// no more to read than their length.
func FuzzParseMetadata(f *testing.F) {
	head := append([]byte{4}, make([]byte, 32)...)
	head = append(head, mint[:]...)
	f.Add(fmt.Appendf(slices.Clip(head), "\x05\x00\x00\x00Token\x03\x00\x00\x00TOK"))
	f.Add(fmt.Appendf(slices.Clip(head), "\x20\x00\x00\x00%s\x00\x00\x00\x00", make([]byte, 32)))
	f.Add(fmt.Appendf(slices.Clip(head), "\xff\xff\xff\xffToken"))
	f.Add(fmt.Appendf(slices.Clip(head), "\x00\x00\x00\x00\xff\xff\xff\x7f"))
	address, ok := chain.MetadataAddress(mint)
	if !ok {
		f.Fatal("the mint has no address for its name")
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		account := chain.Account{Key: address, Owner: names, Data: data}
		var name chain.TokenName
		var ok bool
		if wrong := alloctest.Excess(len(data), 4, 4<<10, func() { name, ok = chain.ParseMetadata(account, mint) }); wrong != "" {
			t.Error(wrong)
		}
		if len(name.Name)+len(name.Symbol) > len(data) || (!ok && len(name.Symbol) > 0) {
			t.Fatalf("%d bytes are called %q", len(data), name)
		}
	})
}
