package effects

import (
	"fmt"
	"slices"

	"github.com/agnivade/levenshtein"

	"countersign/shared/amount"
	"countersign/shared/solana"
	"countersign/shared/untrusted"
	"countersign/signerd/internal/chain"
)

// inspectRecipients notes who is paid for the first time, and addresses that
// are made to be taken for known ones: people compare the ends of an address,
// and an attacker who has some dust to spare puts one with the same ends into
// their history.
func (d *Draft) inspectRecipients() {
	for _, payment := range d.payments {
		known := slices.ContainsFunc(d.known.Recipients, func(r Recipient) bool { return r.Address == payment.Recipient })
		if known {
			continue
		}
		d.find(FirstSeenRecipient, fmt.Sprintf("%s is not among the recipients that the owner has named", payment.Recipient))
		if LookAlike(payment.Recipient, d.wallet) {
			d.find(LookAlikeRecipient, fmt.Sprintf("%s looks like the wallet's own address, and is another", payment.Recipient))
		}
		for _, recipient := range d.known.Recipients {
			if LookAlike(payment.Recipient, recipient.Address) {
				d.find(LookAlikeRecipient, fmt.Sprintf("%s looks like %s, and is another", payment.Recipient, recipient.called()))
			}
		}
	}
}

// ends is how many characters people compare at either end of an address.
const ends = 4

// few is how many letters two addresses may differ by and still be one that
// was copied badly. Any two keys differ by many more.
const few = 2

// LookAlike reports two addresses of which one may be taken for the other: they
// are alike where people look, or one is the other with a letter or two lost,
// added or changed.
func LookAlike(a, b solana.PublicKey) bool {
	x, y := a.String(), b.String()
	return a != b && (x[:ends] == y[:ends] && x[len(x)-ends:] == y[len(y)-ends:] || levenshtein.ComputeDistance(x, y) <= few)
}

// called is how a recipient is told to the owner, who wrote the name.
func (r Recipient) called() string {
	if r.Name == "" {
		return r.Address.String()
	}
	return fmt.Sprintf("%s (%s)", untrusted.Clean(r.Name, untrusted.Name).Display(), r.Address)
}

// inspectNames notes tokens that are bought without the owner having named
// them, and any that wear the name of another.
func (d *Draft) inspectNames() {
	for _, mint := range d.assets() {
		if slices.ContainsFunc(d.known.Mints, func(m NamedMint) bool { return m.Mint == mint }) {
			continue
		}
		if _, bought := d.bounds.MinIn[mint]; bought && d.flow == Swap {
			d.find(UnverifiedMint, fmt.Sprintf("token %s is not among those that the owner has named", mint))
		}
		d.compareNames(mint)
	}
}

// assets are the tokens that a transaction is about, in a fixed order.
func (d *Draft) assets() []solana.PublicKey {
	var mints []solana.PublicKey
	add := func(mint solana.PublicKey) {
		if mint != amount.SOL && mint != solana.WrappedSOL && !slices.Contains(mints, mint) {
			mints = append(mints, mint)
		}
	}
	for mint := range d.bounds.MaxOut {
		add(mint)
	}
	for mint := range d.bounds.MinIn {
		add(mint)
	}
	for _, key := range d.ownKeys() {
		add(d.own[key].mint)
	}
	slices.SortFunc(mints, solana.PublicKey.Compare)
	return mints
}

// nativeNames are what only SOL itself may be called.
var nativeNames = []NamedMint{{"SOL", solana.WrappedSOL}, {"WSOL", solana.WrappedSOL}, {"Solana", solana.WrappedSOL}, {"Wrapped SOL", solana.WrappedSOL}}

func (d *Draft) compareNames(mint solana.PublicKey) {
	for _, name := range []chain.TokenName{d.state.Mints[mint].Name, d.state.Names[mint]} {
		for _, text := range []string{name.Symbol, name.Name} {
			looks := skeletons(text)
			for _, named := range slices.Concat(nativeNames, d.known.Mints) {
				if like := skeleton(named.Name); like == "" || !slices.Contains(looks, like) {
					continue
				}
				d.find(LookAlikeMint, fmt.Sprintf("token %s calls itself %q, and is not %s (%s)",
					mint, untrusted.Clean(text, untrusted.Name).Exposed(), untrusted.Clean(named.Name, untrusted.Name).Display(), named.Mint))
				return
			}
		}
	}
}
