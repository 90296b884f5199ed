package gate

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
)

// TestBudget has senders that keep all they may have: others are served.
func TestBudget(t *testing.T) {
	t.Parallel()
	b := newBudget(1000, 100, true)
	hoard := func(s sender) (taken int64) {
		for {
			if err := b.reserve(s, 10); err != nil {
				b.giveBack(s, 10)
				if !errors.Is(err, errShare) {
					t.Fatal(err)
				}
				return taken
			}
			taken += 10
		}
	}
	if got := hoard(newSender("a", "1")); got != 250 {
		t.Errorf("an address has %d of 1000", got)
	}
	if got := hoard(newSender("a", "2")) + hoard(newSender("a", "3")); got != 250 {
		t.Errorf("the other addresses with its token have %d more", got)
	}
	if got := hoard(newSender("b", "1")); got != 250 {
		t.Errorf("another token at the first address has %d", got)
	}
	b.giveBack(newSender("a", "1"), 250)
	if got := hoard(newSender("a", "3")); got != 250 {
		t.Errorf("after bodies have ended, an address has %d more", got)
	}
	if err := newBudget(1000, 800, true).reserve(newSender("a", "1"), 800); err != nil {
		t.Errorf("a body of the largest size: %v", err)
	}
	if err := newBudget(1000, 1, false).reserve(newSender("", "1"), 1001); !errors.Is(err, errBusy) {
		t.Errorf("more than there is: %v", err)
	}
}

// stuck is a body that has some bytes and then does not go on until it is closed.
type stuck struct {
	data    *strings.Reader
	began   chan struct{}
	release chan struct{}
}

func (s *stuck) Read(p []byte) (int, error) {
	if n, err := s.data.Read(p); err == nil {
		return n, nil
	}
	if s.began != nil {
		close(s.began)
		s.began = nil
	}
	<-s.release
	return 0, errors.New("the sender went away")
}

// TestHoarders has senders with one token whose bodies do not end. It checks that senders with another token are
// served, and that the first ones are told what is wrong.
func TestHoarders(t *testing.T) {
	t.Parallel()
	tokens, err := ParseTokens(strings.NewReader("write hoarder-0123456789\nwrite device-0123456789\n"), "tokens")
	if err != nil {
		t.Fatal(err)
	}
	url, _ := serve(t, func(o *Options, _ *collector.Options) {
		o.Tokens, o.MaxBody, o.MaxAll, o.Memory = tokens, 1<<20, 1<<18, 1<<20
	})
	release := make(chan struct{})
	ended := make(chan struct{})
	const hoarders = 17
	for range hoarders {
		go func() {
			defer func() { ended <- struct{}{} }()
			body := &stuck{strings.NewReader(strings.Repeat("x", 1<<18-1)), nil, release}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/v1/files", body)
			if err != nil {
				t.Error(err)
				return
			}
			r.Header.Set("Authorization", "Bearer hoarder-0123456789")
			if response, err := http.DefaultClient.Do(r); err == nil {
				if response.Body.Close(); response.StatusCode != http.StatusTooManyRequests {
					t.Errorf("a hoarder is answered with %d", response.StatusCode)
				}
			}
		}()
	}
	for range hoarders - 1 { // all but one are told to come later
		<-ended
	}
	p := fleettest.NewProgram("app", "\xab\xcd", 30)
	if status, text := ask(t, http.MethodPost, url+"/v1/files", p.Run(t, 1), "Authorization", "Bearer device-0123456789"); status != http.StatusOK {
		t.Errorf("another sender: %d %s", status, text)
	}
	close(release)
	<-ended
}
