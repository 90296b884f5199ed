package collector

import (
	"fmt"

	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/fleet/tally"
)

// reserved is what the files of an upload need that is not merged yet.
type reserved struct {
	sender  string
	use     tally.Use
	waiting int64 // bytes of raw files without a map
}

// admit returns what the files of an upload need, or an error if there is no room for it.
func (c *Collector) admit(items []inbox.Item) (*reserved, error) {
	r := &reserved{use: c.state.Needs(items)}
	if len(items) > 0 {
		r.sender = items[0].Sender
	}
	most := c.o.Sender
	if most.Bytes == 0 && r.use.Bytes > 0 {
		free, err := c.o.Free()
		if err != nil {
			return nil, err
		}
		most.Bytes = c.half(r.sender, free-c.o.MinFree)
	}
	if err := c.state.Admit(r.sender, r.use, c.coming[r.sender], c.comingMemory, most); err != nil {
		return nil, err
	}
	mapped := make(map[string]bool)
	for i := range items {
		if items[i].Kind == inbox.Map {
			mapped[string(items[i].Build)] = true
		}
	}
	for i := range items {
		if it := &items[i]; it.Kind == inbox.Raw && !mapped[string(it.Build)] && !c.state.Known(it.Build) {
			r.waiting += int64(len(it.Data))
		}
	}
	if _, waiting := c.state.Waiting(); r.waiting > 0 && waiting+c.comingWaiting+r.waiting > c.o.MaxWaiting {
		return nil, fmt.Errorf("%w: %d bytes", ErrWaiting, waiting)
	}
	return r, nil
}

// half returns half of what all senders keep and could keep: no token fills the disk alone. Without tokens there is one
// sender, who may.
func (c *Collector) half(sender string, free int64) int64 {
	if sender == "" {
		return 0
	}
	all := max(0, free)
	for _, u := range c.state.Senders() {
		all += u.Bytes
	}
	return max(1, all/2)
}

// release ends a reservation, or leaves it to be ended when the record is merged.
func (c *Collector) release(r *reserved, seq uint64) {
	if r == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if seq > c.state.Seq() {
		c.reserved[seq] = r
		return
	}
	c.free(r)
}

func (c *Collector) free(r *reserved) {
	if use := c.coming[r.sender].Add(r.use, -1); use == (tally.Use{}) {
		delete(c.coming, r.sender)
	} else {
		c.coming[r.sender] = use
	}
	c.comingWaiting -= r.waiting
	c.comingMemory -= r.use.Memory
}

// merged ends the reservation of a record that was merged or is lost.
func (c *Collector) merged(seq uint64) {
	if r := c.reserved[seq]; r != nil {
		delete(c.reserved, seq)
		c.free(r)
	}
}
