package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/prof"
)

// question is what a node asks the owner of a shard.
type question struct {
	What   string      `json:"what"`
	Query  tally.Query `json:"query,omitzero"`
	Build  []byte      `json:"build,omitempty"`
	Key    inbox.Key   `json:"key,omitzero"`
	Data   []byte      `json:"data,omitempty"`
	Claims []string    `json:"claims,omitempty"` // of the files in Data
}

// An answer is one message or several. The last has doneHeader with the number of bytes of all, as
// NATS may lose a message; after an error it has a code in errorHeader.
const (
	doneHeader  = "Cairn-Done"
	errorHeader = "Cairn-Error"

	codeNone  = "none"  // tally.ErrNone
	codeRetry = "retry" // this node is not the owner any more
	codeOther = "other"

	answerTimeout = 20 * time.Second // of an owner
	retryPause    = 200 * time.Millisecond
)

// answer answers a question by the collector of a shard.
func answer(ctx context.Context, c *collector.Collector, q *question) ([]byte, error) {
	id := prof.BuildID(q.Build)
	switch q.What {
	case "builds":
		return marshal(c.Builds(ctx, q.Query))
	case "profile":
		return c.Profile(ctx, id)
	case "map":
		return c.Map(ctx, id)
	case "logs":
		return marshal(c.Logs(ctx, id))
	case "log":
		return c.LogFile(ctx, id, q.Key)
	case "spikes":
		return marshal(c.Spikes(ctx, id))
	case "check":
		const most = 1 << 40 // the node that asks has checked its limits
		items, refused, err := inbox.Open(q.Data, inbox.Limits{Files: most, File: most, Total: most})
		for i := range items {
			items[i].Claims = q.Claims
		}
		if err == nil && len(refused) == 0 {
			refused, err = c.CheckMaps(ctx, items)
		}
		return marshal(refused, err)
	}
	return nil, fmt.Errorf("a question of an unknown kind, %.40q: the nodes are of different versions", q.What)
}

func marshal[T any](v T, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

// respond sends an answer.
func (c *Cluster) respond(to string, data []byte, err error) error {
	size, total := c.partSize(), len(data)
	for len(data) > size && err == nil {
		if err := c.conn.Publish(to, data[:size]); err != nil {
			return err
		}
		data = data[size:]
	}
	m := nats.NewMsg(to)
	m.Header.Set(doneHeader, strconv.Itoa(total))
	switch {
	case err == nil:
		m.Data = data
	case errors.Is(err, tally.ErrNone):
		m.Header.Set(errorHeader, codeNone)
	case errors.Is(err, collector.ErrSuperseded), errors.Is(err, journal.ErrClosed), errors.Is(err, journal.ErrUnavailable),
		errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		m.Header.Set(errorHeader, codeRetry)
	default:
		m.Header.Set(errorHeader, codeOther)
		m.Data = []byte(err.Error())
	}
	return c.conn.PublishMsg(m)
}

// ask asks the owner of a shard. While the shard has no owner it tries again, until ctx ends.
func (c *Cluster) ask(ctx context.Context, shard int, q question) ([]byte, error) {
	if err := c.notReady(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(q)
	if err != nil {
		return nil, err
	}
	for {
		data, err := c.askOnce(ctx, shard, text)
		if err == nil || !errors.Is(err, journal.ErrUnavailable) {
			return data, err
		}
		select {
		case <-time.After(retryPause):
		case <-ctx.Done():
			return nil, fmt.Errorf("shard %d has no owner: %w", shard, journal.ErrUnavailable)
		}
	}
}

func (c *Cluster) askOnce(ctx context.Context, shard int, text []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	inbox := c.conn.NewInbox()
	sub, err := c.conn.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection is closed, or it succeeds
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	if err := c.conn.PublishRequest(c.askSubject(shard), inbox, text); err != nil {
		return nil, err
	}
	var data []byte
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil || m.Header.Get("Status") == "503" { // no subscriber, which is no owner
			return nil, journal.ErrUnavailable
		}
		data = append(data, m.Data...)
		if m.Header.Get(doneHeader) == "" {
			continue
		}
		switch m.Header.Get(errorHeader) {
		case "":
			if m.Header.Get(doneHeader) != strconv.Itoa(len(data)) {
				return nil, journal.ErrUnavailable
			}
			return data, nil
		case codeNone:
			return nil, tally.ErrNone
		case codeRetry:
			return nil, journal.ErrUnavailable
		}
		return nil, errors.New(string(m.Data))
	}
}

func (c *Cluster) askSubject(shard int) string { return fmt.Sprintf("%s.ask.%d", c.o.Prefix, shard) }
