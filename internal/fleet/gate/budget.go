package gate

import (
	"errors"
	"fmt"
	"sync"
)

// errShare reports that a sender has too much in progress. Others are not affected.
var errShare = errors.New("too many uploads of this sender at once")

// budget bounds the bytes of all bodies that are being read and merged: of all senders, of those with one token, and of
// those with one token at one address, so that no sender keeps others out.
type budget struct {
	mu   sync.Mutex
	left int64
	of   map[string]int64 // bytes by token, and by token and address

	ofToken, ofAddress int64 // most bytes of a token, and of an address with it
}

// newBudget returns a budget of bytes. With shares, a sender may have a part of it, into which a body of largest
// bytes always fits.
func newBudget(all, largest int64, shares bool) *budget {
	b := &budget{left: all, of: make(map[string]int64), ofToken: all, ofAddress: all}
	if shares {
		b.ofToken, b.ofAddress = max(all/2, largest), max(all/4, largest)
	}
	return b
}

// reserve takes n bytes for a body of a sender. They are taken after an error, too.
func (b *budget) reserve(s sender, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left -= n
	b.of[s.token] += n
	b.of[s.address] += n
	switch {
	case b.left < 0:
		return errBusy
	case b.of[s.address] > b.ofAddress:
		return fmt.Errorf("%w: more than %d bytes from this address", errShare, b.ofAddress)
	case b.of[s.token] > b.ofToken:
		return fmt.Errorf("%w: more than %d bytes with this token", errShare, b.ofToken)
	}
	return nil
}

// giveBack returns the bytes of a body.
func (b *budget) giveBack(s sender, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.left += n
	for _, key := range []string{s.token, s.address} {
		if b.of[key] -= n; b.of[key] <= 0 {
			delete(b.of, key)
		}
	}
}

// sender is who sends a body: the name of its token, and that with its address.
type sender struct{ token, address string }

func newSender(token, address string) sender { return sender{token, token + " " + address} }
