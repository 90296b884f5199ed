package tally

import (
	"errors"
	"fmt"

	"github.com/cairnprof/cairn/internal/fleet/inbox"
)

// Use is what a collector keeps of the files of one sender, or how much it keeps at most.
type Use struct {
	Unknown int   `json:"unknown"` // builds without a map of which it sent the first file
	Places  int   `json:"places"`  // of spikes, that its logs were the first to have
	Bytes   int64 `json:"bytes"`   // on the disk: of its logs, maps, and raw files that wait for maps
	Memory  int64 `json:"memory"`  // bytes in memory of the entries of builds of which it sent the first file
}

// Add returns the sum of two uses, or the difference if n is -1.
func (u Use) Add(o Use, n int) Use {
	return Use{u.Unknown + n*o.Unknown, u.Places + n*o.Places, u.Bytes + int64(n)*o.Bytes, u.Memory + int64(n)*o.Memory}
}

// The errors of Admit.
var (
	// ErrSender reports that a sender has as much in the collector as one sender may have.
	ErrSender = errors.New("the limit for one token is reached")
	// ErrMemory reports that there is no memory for another build.
	ErrMemory = errors.New("the collector's memory is full (--max-memory)")
)

// Limit is the name of a limit in metrics.
type Limit string

// The limits.
const (
	LimitUnknown Limit = "unknown_builds"
	LimitPlaces  Limit = "places"
	LimitBytes   Limit = "bytes"
	LimitMemory  Limit = "memory"
)

// LimitError reports which limit of a sender a file exceeds.
type LimitError struct {
	Limit Limit
	Has   int64 // with what is not merged yet
	Most  int64
}

var limitTexts = map[Limit]string{
	LimitUnknown: "builds without a map", LimitPlaces: "places of spikes", LimitBytes: "bytes of logs, maps and raw files without a map",
	LimitMemory: "bytes of memory for builds",
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: %d %s, at most %d are allowed", ErrSender, e.Has, limitTexts[e.Limit], e.Most)
}

// Unwrap returns ErrSender.
func (e *LimitError) Unwrap() error { return ErrSender }

// share is the part of a sender in a build.
type share struct {
	Sender  string `json:"sender,omitempty"`
	First   bool   `json:"first,omitempty"` // it sent the first file
	Places  int    `json:"places,omitempty"`
	Logs    int64  `json:"logs,omitempty"` // bytes
	Maps    int64  `json:"maps,omitempty"`
	Waiting int64  `json:"waiting,omitempty"`
}

// share returns the part of a sender.
func (b *build) share(sender string) *share {
	for i := range b.Shares {
		if b.Shares[i].Sender == sender {
			return &b.Shares[i]
		}
	}
	b.Shares = append(b.Shares, share{Sender: sender})
	return &b.Shares[len(b.Shares)-1]
}

// account adds n times what a build has to the sums of the state.
func (s *State) account(b *build, n int) {
	if s.builds[b.id] != b {
		return // it is not in the state yet
	}
	size := b.sizeOfEntry()
	s.entries += int64(n) * size
	files, bytes := b.waits()
	s.waitingFiles, s.waitingBytes = s.waitingFiles+n*files, s.waitingBytes+int64(n)*bytes
	for i := range b.Shares {
		sh := &b.Shares[i]
		u := Use{Places: sh.Places, Bytes: sh.Logs + sh.Maps + sh.Waiting}
		if sh.First {
			u.Memory = size
			if !b.Mapped {
				u.Unknown = 1
			}
		}
		if u = s.senders[sh.Sender].Add(u, n); u == (Use{}) {
			delete(s.senders, sh.Sender)
		} else {
			s.senders[sh.Sender] = u
		}
	}
}

// Senders returns what is kept of each sender.
func (s *State) Senders() map[string]Use { return s.senders }

// Needs returns what new files of one sender add at most.
func (s *State) Needs(items []inbox.Item) (need Use) {
	mapped, unknown := map[string]bool{}, map[string]bool{}
	for i := range items {
		if items[i].Kind == inbox.Map {
			mapped[string(items[i].Build)] = true
		}
	}
	for i := range items {
		it := &items[i]
		need.Places += it.Places
		if it.Kind != inbox.Raw || !mapped[string(it.Build)] && !s.Known(it.Build) {
			need.Bytes += int64(len(it.Data))
		}
		if s.builds[it.Build] == nil && !unknown[string(it.Build)] {
			unknown[string(it.Build)] = true
			need.Memory += newBuild(it.Build).sizeOfEntry() + int64(len(it.Program)) + 128
			if !mapped[string(it.Build)] {
				need.Unknown++
			}
		}
	}
	return need
}

// Admit returns an error if a sender may not add what its files need, to what it has and what of it is not merged yet;
// of all senders, pending is not merged yet.
func (s *State) Admit(sender string, need, coming Use, pending int64, most Use) error {
	if s.limits.Memory > 0 && need.Memory > 0 && s.entries+s.keys.size()-s.keys.freshSize()+pending+need.Memory > s.limits.Memory/4*3 {
		return ErrMemory
	}
	all := s.senders[sender].Add(coming, 1).Add(need, 1)
	for _, l := range []struct {
		limit           Limit
		need, all, most int64
	}{
		{LimitUnknown, int64(need.Unknown), int64(all.Unknown), int64(most.Unknown)},
		{LimitPlaces, int64(need.Places), int64(all.Places), int64(most.Places)},
		{LimitBytes, need.Bytes, all.Bytes, most.Bytes},
		{LimitMemory, need.Memory, all.Memory, most.Memory},
	} {
		if l.most > 0 && l.need > 0 && l.all > l.most {
			return &LimitError{l.limit, l.all, l.most}
		}
	}
	return nil
}
