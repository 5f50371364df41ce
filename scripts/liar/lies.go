package liar

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	lib "github.com/gagliardetto/solana-go"

	signerv1 "countersign/proto/signer/v1"
	"countersign/scripts/sandbox/bagsandbox"
)

// lie is one kind of lie. weight is how often it is told among all.
type lie struct {
	kind   string
	weight int
	tell   func(l *Liar, ctx context.Context, s *session, r *rand.Rand) (Outcome, error)
}

// spends are no lies but greed: valid, confirmed by the attacker, as large as
// the caps let them.
var spends = []lie{
	{"spend: payments", 3, (*Liar).payThief}, {"spend: trades", 2, (*Liar).trades}, {"spend: token sales", 5, (*Liar).sales},
	{"spend: fees as high as allowed", 2, (*Liar).burnFees}, {"spend: tips", 1, (*Liar).payTips}, {"spend: rents for others", 2, (*Liar).payRents},
	{"spend: claims", 1, (*Liar).claims}, {"race: many codes at once", 2, (*Liar).raceCodes}, {"race: one code, many times", 2, (*Liar).raceOneCode},
}

var lies = []lie{
	{"hostile transaction", 16, (*Liar).hostile}, {"bait and switch", 14, (*Liar).baitAndSwitch}, {"false bounds", 12, (*Liar).falseBounds},
	{"false flow", 6, (*Liar).falseFlow}, {"false arguments", 6, (*Liar).falseArguments}, {"overflow", 6, (*Liar).overflow},
	{"several debits", 5, (*Liar).severalDebits}, {"theft in a transfer", 8, (*Liar).theftInTransfer}, {"batch", 6, (*Liar).batches},
	{"sponsored claim", 5, (*Liar).sponsored}, {"hostile claim", 5, (*Liar).hostileClaim}, {"recipients in bounds", 4, (*Liar).listedRecipients},
	{"used code", 5, (*Liar).usedCode}, {"code of another session", 5, (*Liar).foreignCode}, {"guessed code", 3, (*Liar).guessedCode},
	{"v1 and other versions", 4, (*Liar).versions}, {"nonce", 3, (*Liar).nonces}, {"lookup table", 4, (*Liar).tables},
	{"malformed message", 5, (*Liar).malformed}, {"method of others", 3, (*Liar).foreignMethods}, {"new connection", 3, (*Liar).newConnection},
	{"proposal of others", 3, (*Liar).foreignProposals},
}

func hostileModes() []bagsandbox.Mode {
	return []bagsandbox.Mode{
		bagsandbox.Skim, bagsandbox.Half, bagsandbox.WrongDestination, bagsandbox.Delegate, bagsandbox.Assign, bagsandbox.SetOwner,
		bagsandbox.CloseAuthority, bagsandbox.BaitAndSwitch, bagsandbox.TakeInput, bagsandbox.Allocate, bagsandbox.ExtraTransfer,
		bagsandbox.OtherRecipient, bagsandbox.CloseToThief, bagsandbox.WrongMint, bagsandbox.MoreIn, bagsandbox.UnknownProgram,
		bagsandbox.NonceFirst, bagsandbox.BigPriorityFee, bagsandbox.OtherWallet,
	}
}

// pair is a trade: SOL for a token mostly, or the reverse.
func (l *Liar) pair(r *rand.Rand) (in, out lib.PublicKey, units uint64) {
	if r.IntN(3) == 0 {
		return l.people.token, l.people.wsol, 1 + r.Uint64N(l.TokenRoom/50)
	}
	out = []lib.PublicKey{l.people.token, l.people.token2022}[r.IntN(2)]
	return l.people.wsol, out, 10_000 + r.Uint64N(l.Room/50)
}

// generous bounds allow whatever may be allowed at all.
func (l *Liar) generous(o offer, r *rand.Rand) offer {
	b := o.bounds
	if len(b.GetMaxOut()) > 0 && r.IntN(2) == 0 {
		b.MaxOut[0].Amount *= 2
	}
	for _, in := range b.GetMinIn() {
		in.Amount = 1
	}
	b.MaxFee, b.MaxRent = l.Room, l.Room
	b.Programs = append(b.Programs, l.people.unknown.Bytes())
	return l.argue(o)
}

// hostile proposes and confirms what a dishonest API made, within bounds that
// were made to fit.
func (l *Liar) hostile(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	in, out, units := l.pair(r)
	modes := hostileModes()
	m := bagsandbox.Misbehaviour{Mode: modes[r.IntN(len(modes))], Param: 1 + r.Uint64N(2*l.Room)}
	o, err := l.trade(ctx, in, out, units, m)
	if err != nil {
		return 0, err
	}
	o = l.generous(o, r)
	return l.carryOut(ctx, s, o, o.batch)
}

// baitAndSwitch has an honest transaction judged and executes another.
func (l *Liar) baitAndSwitch(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	in, out, units := l.pair(r)
	bait, err := l.trade(ctx, in, out, units, bagsandbox.Misbehaviour{})
	if err != nil {
		return 0, err
	}
	var other offer
	switch r.IntN(4) {
	case 0:
		other, err = l.payment(ctx, l.people.thief, 1+r.Uint64N(l.Room))
	case 1:
		other, err = l.trade(ctx, in, out, units*2, bagsandbox.Misbehaviour{})
	case 2:
		other, err = l.tokenPayment(ctx, l.people.token, l.people.thief, 1+r.Uint64N(l.TokenRoom))
	default:
		modes := hostileModes()
		other, err = l.trade(ctx, in, out, units, bagsandbox.Misbehaviour{Mode: modes[r.IntN(len(modes))], Param: 1 + r.Uint64N(2*l.Room)})
	}
	if err != nil {
		return 0, err
	}
	if r.IntN(3) == 0 {
		bait = l.generous(bait, r)
	}
	return l.carryOut(ctx, s, bait, other.batch)
}

// falseBounds states other bounds than the bytes have.
func (l *Liar) falseBounds(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	in, out, units := l.pair(r)
	o, err := l.trade(ctx, in, out, units, bagsandbox.Misbehaviour{})
	if err != nil {
		return 0, err
	}
	b := o.bounds
	switch r.IntN(9) {
	case 0:
		b.MaxOut[0].Amount = units - 1
	case 1:
		b.MaxOut = nil
	case 2:
		b.MaxOut = assets(out, units)
	case 3:
		b.MinIn[0].Amount = math.MaxUint64
	case 4:
		b.MaxFee = 4_999
	case 5:
		b.MaxRent = 1
	case 6:
		b.Programs = nil
	case 7:
		b.MaxOut = append(b.MaxOut, b.MaxOut[0])
	default:
		b.MaxOut[0].Mint = []byte("short")
	}
	if r.IntN(2) == 0 {
		o = l.argue(o)
	}
	return l.carryOut(ctx, s, o, o.batch)
}

func (l *Liar) falseFlow(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	in, out, units := l.pair(r)
	o, err := l.trade(ctx, in, out, units, bagsandbox.Misbehaviour{})
	if r.IntN(2) == 0 {
		o, err = l.payment(ctx, l.people.thief, units)
	}
	if err != nil {
		return 0, err
	}
	honest := o.flow
	for o.flow == honest {
		o.flow = signerv1.Flow(r.IntN(6))
	}
	o = l.argue(o)
	return l.carryOut(ctx, s, o, o.batch)
}

// falseArguments says in words what the bytes do not do.
func (l *Liar) falseArguments(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	o, err := l.payment(ctx, l.people.thief, 1_000_000+r.Uint64N(l.Room/100))
	if err != nil {
		return 0, err
	}
	texts := []string{
		`{"amount":"0.000001","mint":"` + l.World.WSOL + `","to":"` + l.World.Thief + `"}`,
		`{"amount":"0.001","mint":"` + l.World.WSOL + `","to":"` + l.World.Sponsor + `"}`,
		`{"to":"` + l.World.Thief + `"}`, `{}`, ``, `null`, `[`, o.arguments + " ", string([]byte{0xff, 0xfe}),
	}
	o.arguments = texts[r.IntN(len(texts))]
	if r.IntN(4) == 0 {
		o.tool = []string{"bags_get_quote", "bags_execute_trade", "", "\x00"}[r.IntN(4)]
	}
	// With a fingerprint of its own the text counts; what is executed is bytes.
	outcome, err := l.carryOut(ctx, s, o, o.batch)
	if outcome == Landed {
		return outcome, nil
	}
	return outcome, err
}

var huge = []uint64{math.MaxUint64, math.MaxUint64 - 1, 1 << 63, math.MaxInt64, math.MaxUint64 - 5_000}

// overflow hopes that a sum wraps around.
func (l *Liar) overflow(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	n := huge[r.IntN(len(huge))]
	var o offer
	var err error
	switch r.IntN(5) {
	case 0:
		o, err = l.payment(ctx, l.people.thief, n)
	case 1: // Two debits that add up to little, modulo 2^64.
		o, err = l.payment(ctx, l.people.thief, 1_000_000, transfer(l.people.wallet, l.people.thief, n))
	case 2:
		o, err = l.payment(ctx, l.people.thief, 1_000, unitPrice(n))
	case 3:
		o, err = l.tokenPayment(ctx, l.people.token, l.people.thief, 1, l.people.open(l.people.thief, l.people.token), l.people.send(l.people.token, l.people.thief, n, l.World.TokenDecimals))
	default:
		o, err = l.trade(ctx, l.people.wsol, l.people.token, 1_000_000, bagsandbox.Misbehaviour{})
		if err == nil {
			o.bounds.MaxOut[0].Amount = n
		}
	}
	if err != nil {
		return 0, err
	}
	o.bounds.MaxFee, o.bounds.MaxRent = n, n
	o = l.argue(o)
	return l.carryOut(ctx, s, o, o.batch)
}

// severalDebits splits one payment into many.
func (l *Liar) severalDebits(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	var list []lib.Instruction
	for range 1 + r.IntN(12) {
		list = append(list, transfer(l.people.wallet, []lib.PublicKey{l.people.thief, l.people.crony.PublicKey()}[r.IntN(2)], 1+r.Uint64N(l.Room)))
	}
	o, err := l.payment(ctx, l.people.thief, 1_000_000, list...)
	if err != nil {
		return 0, err
	}
	if r.IntN(2) == 0 {
		o.bounds.Recipients = append(o.bounds.Recipients, l.people.crony.PublicKey().Bytes())
	}
	return l.carryOut(ctx, s, o, o.batch)
}

// theftInTransfer adds to a small payment what takes over or empties accounts.
func (l *Liar) theftInTransfer(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	p := l.people
	account, thief := p.account(p.wallet, p.token), p.thief
	thefts := []lib.Instruction{
		call(lib.TokenProgramID, u64([]byte{4}, math.MaxUint64), write(account), read(thief), sign(p.wallet)),                              // Approve
		call(lib.TokenProgramID, append([]byte{6, 2, 1}, thief[:]...), write(account), sign(p.wallet)),                                     // SetAuthority, owner
		call(lib.TokenProgramID, append([]byte{6, 3, 1}, thief[:]...), write(account), sign(p.wallet)),                                     // SetAuthority, close
		call(lib.TokenProgramID, []byte{9}, write(account), write(thief), sign(p.wallet)),                                                  // CloseAccount
		call(lib.TokenProgramID, u64([]byte{8}, 1_000), write(account), write(p.token), sign(p.wallet)),                                    // Burn
		call(lib.SystemProgramID, append([]byte{1, 0, 0, 0}, thief[:]...), sign(p.wallet)),                                                 // Assign
		call(lib.SystemProgramID, u64([]byte{8, 0, 0, 0}, 80), sign(p.wallet)),                                                             // Allocate
		call(lib.SystemProgramID, append(u64(u64([]byte{0, 0, 0, 0}, l.Room), 0), thief[:]...), sign(p.wallet), sign(p.crony.PublicKey())), // CreateAccount
		call(lib.TokenProgramID, []byte{38}, write(account), write(thief), sign(p.wallet)),                                                 // WithdrawExcessLamports
		call(p.unknown, []byte{0}, sign(p.wallet)),
		p.send(p.token2022, thief, 1_000_000, l.World.Token2022Decimal),
		p.open(thief, p.token2022),
	}
	o, err := l.payment(ctx, thief, 1_000, thefts[r.IntN(len(thefts))])
	if err != nil {
		return 0, err
	}
	o.bounds.MaxFee, o.bounds.MaxRent = l.Room, l.Room
	return l.carryOut(ctx, s, o, o.batch)
}

// batches abuses that one confirmation may cover several transactions.
func (l *Liar) batches(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	one, err := l.payment(ctx, l.people.thief, 1_000_000)
	if err != nil {
		return 0, err
	}
	switch r.IntN(4) {
	case 0: // Many payments under bounds that are empty or those of one.
		for range 1 + r.IntN(45) {
			one.batch = append(one.batch, one.batch[0])
		}
		if r.IntN(2) == 0 {
			one.bounds.MaxOut = nil
		}
	case 1: // One proposed, many executed.
		second, err := l.payment(ctx, l.people.thief, 1_000_000, unitPrice(1))
		if err != nil {
			return 0, err
		}
		return l.carryOut(ctx, s, one, append(slices.Clone(one.batch), second.batch...))
	case 2:
		one.batch = nil
	default: // A claim that ends in a payment.
		claim, err := l.claim(ctx, bagsandbox.Behaviour{SwapVersion: bagsandbox.V0, ClaimStyle: bagsandbox.LegacyClaims, ClaimTransactions: 2}, bagsandbox.Misbehaviour{}, 1_000)
		if err != nil {
			return 0, err
		}
		return l.carryOut(ctx, s, claim, append(claim.batch[:1:1], one.batch...))
	}
	return l.carryOut(ctx, s, one, one.batch)
}

func (l *Liar) anyClaim(ctx context.Context, style bagsandbox.ClaimStyle, m bagsandbox.Misbehaviour, r *rand.Rand) (offer, error) {
	b := bagsandbox.Behaviour{SwapVersion: bagsandbox.V0, ClaimStyle: style, ClaimTransactions: 1 + r.IntN(3)}
	return l.claim(ctx, b, m, 1+r.Uint64N(1_000_000))
}

func (l *Liar) sponsored(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	o, err := l.anyClaim(ctx, []bagsandbox.ClaimStyle{bagsandbox.SponsoredClaims, bagsandbox.MixedClaims}[r.IntN(2)], bagsandbox.Misbehaviour{}, r)
	if err != nil {
		return 0, err
	}
	return l.carryOut(ctx, s, o, o.batch)
}

func (l *Liar) hostileClaim(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	modes := []bagsandbox.Mode{
		bagsandbox.ClaimExtraTransfer, bagsandbox.ClaimOtherRecipient, bagsandbox.ClaimHiddenRecipient, bagsandbox.ClaimCloseToThief,
		bagsandbox.ClaimBigPriorityFee, bagsandbox.SponsorMissing, bagsandbox.SponsorBadSignature, bagsandbox.ClaimBadBlockhash, bagsandbox.ClaimHugeTransaction,
	}
	o, err := l.anyClaim(ctx, bagsandbox.LegacyClaims, bagsandbox.Misbehaviour{Mode: modes[r.IntN(len(modes))], Param: 1 + r.Uint64N(l.Room)}, r)
	if err != nil {
		return 0, err
	}
	o = l.generous(o, r)
	return l.carryOut(ctx, s, o, o.batch)
}

// listedRecipients lists the thief where no recipient has a part.
func (l *Liar) listedRecipients(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	in, out, units := l.pair(r)
	o, err := l.trade(ctx, in, out, units, bagsandbox.Misbehaviour{Mode: []bagsandbox.Mode{bagsandbox.ExtraTransfer, bagsandbox.OtherRecipient}[r.IntN(2)], Param: 1 + r.Uint64N(2*l.Room)})
	if err != nil {
		return 0, err
	}
	for range 1 + r.IntN(80) {
		o.bounds.Recipients = append(o.bounds.Recipients, newcomer(r).Bytes())
	}
	o.bounds.Recipients[0] = l.people.thief.Bytes()
	o = l.generous(o, r)
	return l.carryOut(ctx, s, o, o.batch)
}

// usedCode shows codes again, with the bytes they were for and with others.
func (l *Liar) usedCode(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	stolen, ok := l.steal(r)
	if !ok {
		return Refused, refusal{"no code yet"}
	}
	other, err := l.payment(ctx, l.people.thief, 1+r.Uint64N(l.Room))
	if err != nil {
		return 0, err
	}
	switch r.IntN(3) {
	case 0:
		return conclude(s.execute(ctx, stolen.code, stolen.fingerprint, other.batch))
	case 1:
		return conclude(s.execute(ctx, stolen.code, other.fingerprint(), other.batch))
	}
	return conclude(s.execute(ctx, stolen.code, stolen.fingerprint, stolen.batch))
}

// foreignCode uses in one session the code of another.
func (l *Liar) foreignCode(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	o, err := l.payment(ctx, l.people.thief, 1+r.Uint64N(l.Room/2))
	if err != nil {
		return 0, err
	}
	proposal, err := l.propose(ctx, s, o)
	if err != nil {
		return Refused, err
	}
	other := l.pick(r)
	if other == s {
		return Accepted, nil
	}
	return conclude(other.execute(ctx, proposal.GetConfirmationCode(), o.fingerprint(), o.batch))
}

func (l *Liar) guessedCode(ctx context.Context, s *session, r *rand.Rand) (Outcome, error) {
	o, err := l.payment(ctx, l.people.thief, l.Room/2)
	if err != nil {
		return 0, err
	}
	guesses := []string{"", "00000000000000000000000000", "CODE", "' OR 1=1 --", string(make([]byte, 100_000)), newcomer(r).String()}
	return conclude(s.execute(ctx, guesses[r.IntN(len(guesses))], o.fingerprint(), o.batch))
}
