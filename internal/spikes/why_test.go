package spikes_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/spikes"
)

// TestWhy checks the first line of a spike, which says where its time went.
func TestWhy(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, want string
		usage      tracelog.Usage
		folded     bool
	}{
		{"a lock", "slept 24.8..25.0 of 24.9..25.0 ms in futex, who ended that wait is not known", tracelog.Usage{CPU: between(0.01, 0.1), Call: "futex", Waits: 19, InCall: 19, Voluntary: 1}, false},
		{"faults", "ran all the time, 3,100 page faults", tracelog.Usage{CPU: between(24.8, 24.9), Minor: 3100, Since: 12499 * ms}, false},
		{"faults of some time", "ran all the time, at most 2 major page faults, at most 3,100 page faults", tracelog.Usage{CPU: between(24.8, 24.9), Minor: 3100, Major: 2, Since: 1}, false},
		{"a processor", "waited for a processor 14.9..15.0 of 24.9..25.0 ms", tracelog.Usage{CPU: between(10, 10), Waits: 9, Ready: 9, Involuntary: 4}, false},
		{"no sample", "waited for a processor 14.9..15.0 of 24.9..25.0 ms", tracelog.Usage{CPU: between(10, 10), Involuntary: 4}, false},
		{"several", "slept 19.9..20.0 of 24.9..25.0 ms, most in read", tracelog.Usage{CPU: between(5, 5), Call: "read", Waits: 10, InCall: 6}, false},
		{"not known", "the cause is not known", tracelog.Usage{CPU: between(0, 24)}, false},
		{"little known", "ran at least 6.00 of 24.9..25.0 ms, the rest is not known", tracelog.Usage{CPU: between(6, 25)}, false},
		{"not all known", "ran at least 20.0 of 24.9..25.0 ms, 5,000 page faults", tracelog.Usage{CPU: between(20, 25), Minor: 5000, Since: 12499 * ms}, false},
		{"events", "slept 24.8..25.0 of 24.9..25.0 ms in epoll_wait", tracelog.Usage{CPU: between(0.01, 0.1), Call: "epoll_wait", Waits: 19, InCall: 19}, false},
		{"events, and work", "slept 14.9..15.0 of 24.9..25.0 ms in epoll_wait", tracelog.Usage{CPU: between(10, 10), Call: "epoll_wait", Waits: 9, InCall: 9}, false},
		{"a number", "slept 24.8..25.0 of 24.9..25.0 ms in system call 999", tracelog.Usage{CPU: between(0.01, 0.1), Call: "system call 999", Waits: 9, InCall: 9}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			e := waits(0)
			e.Time, e.Peak, e.Usage = 12525*ms, between(24.9, 25.0), &test.usage
			s := spikes.New([]spikes.Log{{Name: "game.cairnlog"}}, address)
			s.Add(0, e)
			w := &spikes.Writer{Set: s, Name: name}
			var b bytes.Buffer
			if err := w.Spike(&b, s.Groups[0], s.Groups[0].Worst); err != nil {
				t.Fatal(err)
			}
			line, _, _ := strings.Cut(b.String(), "\n")
			if _, got, _ := strings.Cut(line, " s: "); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
			if ranked := len(s.Ranked(spikes.ByWorst)); (ranked == 0) != test.folded || (len(w.Waiting(0)) > 0) != test.folded || (len(s.Rows(spikes.BySeen, name)) == 0) != test.folded {
				t.Errorf("%d ranked, waiting: %q", ranked, w.Waiting(0))
			}
			if o := w.Object(s.Groups[0], s.Groups[0].Worst); o.Why == nil || o.Why.Text != test.want || o.Why.Waits != test.folded {
				t.Errorf("%+v", o.Why)
			}
		})
	}
}
