package soak

import (
	"encoding/binary"
	"sync"
	"time"

	"countersign/shared/solana"
)

const (
	// slotTime is how long a slot of the chain lasts.
	slotTime = 400 * time.Millisecond
	// confirmedAfter and finalizedAfter are how many slots later a transaction is
	// that.
	confirmedAfter, finalizedAfter = 1, 8
	baseFee                        = solana.LamportsPerSignature
	// rent is what an empty account needs.
	rent = 890_880
)

// landing is a transaction that the chain has executed.
type landing struct {
	slot uint64
	at   time.Time
	// units is what it was to pay.
	units     uint64
	failed    bool
	keys      []solana.PublicKey
	pre, post []uint64
}

// took is what it cost its payer.
func (l *landing) took() uint64 { return l.pre[0] - l.post[0] }

// fate is what becomes of the next transaction that is sent.
type fate struct {
	// dropped is how often it is forgotten, late after how many slots it lands.
	dropped int
	late    uint64
	// fails has it fail on chain, and silent has the sender be told an error.
	fails, silent bool
}

// sent is a transaction that the network has seen.
type sent struct {
	fate
	tx solana.Transaction
	// due is the slot in which it lands, or 0 while it is forgotten.
	due uint64
}

// blockchain executes System transfers of lamports. It is safe for concurrent use.
type blockchain struct {
	mu       sync.Mutex
	slot     uint64
	lamports map[solana.PublicKey]uint64
	hashes   map[solana.Hash]uint64
	latest   solana.Hash
	sent     map[solana.Signature]*sent
	order    []solana.Signature
	landed   map[solana.Signature]*landing
	next     fate
	// atOnce has everything land and be confirmed when it is sent.
	atOnce bool
}

func newBlockchain(wallet solana.PublicKey, lamports uint64) *blockchain {
	c := &blockchain{
		slot: 1000, lamports: map[solana.PublicKey]uint64{wallet: lamports}, hashes: make(map[solana.Hash]uint64),
		sent: make(map[solana.Signature]*sent), landed: make(map[solana.Signature]*landing),
	}
	c.advance(1)
	return c
}

// advance makes slots, and lands what is due in each.
func (c *blockchain) advance(slots uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.makeSlots(slots)
}

// makeSlots does the same. The caller holds mu.
func (c *blockchain) makeSlots(slots uint64) {
	for range slots {
		c.slot++
		c.latest = solana.Hash{31: 1}
		binary.BigEndian.PutUint64(c.latest[:], c.slot)
		c.hashes[c.latest] = c.slot
		for _, id := range c.order {
			if s := c.sent[id]; s.due != 0 && s.due <= c.slot && c.landed[id] == nil {
				c.land(id, s)
			}
		}
	}
}

// skip lets slots pass in which nothing lives long enough to land.
func (c *blockchain) skip(slots uint64) {
	c.advance(solana.BlockhashLifetime + 1)
	c.mu.Lock()
	c.slot += slots
	clear(c.hashes)
	c.mu.Unlock()
	c.advance(1)
}

// valid reports whether the chain takes a blockhash. The caller holds mu.
func (c *blockchain) valid(hash solana.Hash) bool {
	made, known := c.hashes[hash]
	return known && c.slot-made <= solana.BlockhashLifetime
}

// take is what the network does with bytes that are sent, once or again. It
// reports whether the sender is to be told an error.
func (c *blockchain) take(id solana.Signature, tx solana.Transaction) (silent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, known := c.sent[id]
	if !known {
		s = &sent{fate: c.next, tx: tx}
		c.next = fate{}
		c.sent[id] = s
		c.order = append(c.order, id)
	}
	silent = s.silent
	s.silent = false
	switch {
	case s.due != 0 || c.landed[id] != nil:
	case s.dropped > 0:
		s.dropped--
	default:
		s.due = c.slot + 1 + s.late
	}
	if c.atOnce && c.landed[id] == nil {
		c.land(id, s)
		c.makeSlots(confirmedAfter)
	}
	return silent
}

// land executes a transaction, unless its blockhash has expired. The caller holds
// mu.
func (c *blockchain) land(id solana.Signature, s *sent) {
	if !c.valid(s.tx.Message.Blockhash) {
		return
	}
	l := &landing{slot: c.slot, at: time.Now(), keys: s.tx.Message.Keys, units: unitsOf(s.tx.Message.Instructions[0])}
	for _, key := range l.keys {
		l.pre = append(l.pre, c.lamports[key])
	}
	l.post, l.failed = c.execute(s.tx, s.fails)
	for i, key := range l.keys {
		c.lamports[key] = l.post[i]
	}
	c.landed[id] = l
}

// execute gives the balances after a transaction. The caller holds mu.
func (c *blockchain) execute(tx solana.Transaction, fails bool) (after []uint64, failed bool) {
	for _, key := range tx.Message.Keys {
		after = append(after, c.lamports[key])
	}
	after[0] -= baseFee
	paid := append([]uint64(nil), after...)
	for _, instruction := range tx.Message.Instructions {
		from, to := instruction.Accounts[0], instruction.Accounts[1]
		units := unitsOf(instruction)
		if fails || paid[from] < units+rent {
			return after, true
		}
		paid[from] -= units
		paid[to] += units
	}
	return paid, false
}

// unitsOf is what a System transfer pays.
func unitsOf(transfer solana.Instruction) uint64 {
	return binary.LittleEndian.Uint64(transfer.Data[4:])
}

// observed is what the chain did, for who counts on nobody else.
func (c *blockchain) observed() map[solana.Signature]landing {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[solana.Signature]landing, len(c.landed))
	for id, l := range c.landed {
		all[id] = *l
	}
	return all
}

func (c *blockchain) blockhash() solana.Hash {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.latest
}

func (c *blockchain) fateOfNext(f fate) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.next = f
}
