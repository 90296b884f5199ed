// Package stream keeps a journal in a stream of NATS JetStream. Each record is a message, and its
// number is that of the message in the stream.
package stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cairnprof/cairn/internal/fleet/journal"
)

const (
	// headers is the space in a message for NATS's own headers.
	headers = 1 << 10
	// MaxPayload is the largest message of an embedded server, which is the largest that NATS
	// allows.
	MaxPayload = 64 << 20

	appendTimeout = 5 * time.Second
)

// Codes of errors of JetStream, as package server of nats-server names them. That package is not imported here,
// so that programs without a server of their own do not contain one.
const (
	jsInsufficientResources jetstream.ErrorCode = 10023
	jsStreamStoreFailed     jetstream.ErrorCode = 10077
)

// Config says which stream has the journal. It is created if it does not exist.
type Config struct {
	Stream, Subject string
	Replicas        int
	MaxBytes        int64 // of the stream, 0 for no limit
	MaxPayload      int64 // of a message
}

// Journal is a journal in a stream.
type Journal struct {
	config Config
	js     jetstream.JetStream
	stream jetstream.Stream
	stop   func() // called by Close; nil if there is nothing to stop

	once   sync.Once
	closed context.Context
	close  context.CancelFunc
}

// New returns the journal in a stream.
func New(ctx context.Context, js jetstream.JetStream, config Config) (*Journal, error) {
	j := &Journal{config: config, js: js}
	j.closed, j.close = context.WithCancel(context.Background())
	limit := config.MaxBytes
	if limit == 0 {
		limit = -1
	}
	var err error
	j.stream, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: config.Stream, Subjects: []string{config.Subject}, Storage: jetstream.FileStorage, Replicas: config.Replicas,
		Discard: jetstream.DiscardNew, DenyDelete: true, AllowDirect: true, MaxBytes: limit,
	})
	if err != nil {
		j.close()
		return nil, fmt.Errorf("stream %s: %w", config.Stream, err)
	}
	return j, nil
}

// Append publishes a record.
func (j *Journal) Append(ctx context.Context, data []byte) (uint64, error) {
	if most := j.config.MaxPayload - headers; int64(len(data)) > most {
		return 0, fmt.Errorf("%w: %d bytes, at most %d are allowed", journal.ErrTooLarge, len(data), most)
	}
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	ack, err := j.js.Publish(ctx, j.config.Subject, data)
	if err != nil {
		return 0, j.explain(err)
	}
	return ack.Sequence, nil
}

// explain wraps the errors of NATS that package journal has a name for.
func (j *Journal) explain(err error) error {
	var api *jetstream.APIError
	switch {
	case j.closed.Err() != nil:
		return journal.ErrClosed
	case errors.Is(err, syscall.ENOSPC), errors.As(err, &api) && api.ErrorCode == jsInsufficientResources:
		return fmt.Errorf("%w: %w", journal.ErrFull, err)
	case errors.As(err, &api) && api.ErrorCode == jsStreamStoreFailed:
		return fmt.Errorf("%w: %w", journal.ErrFull, err)
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, jetstream.ErrNoStreamResponse), errors.Is(err, nats.ErrTimeout),
		errors.Is(err, context.DeadlineExceeded), errors.As(err, &api) && api.Code == http.StatusServiceUnavailable:
		return fmt.Errorf("%w: %w", journal.ErrUnavailable, err)
	}
	return err
}

// Last returns the number of the last record.
func (j *Journal) Last() (uint64, error) {
	info, err := j.Info(j.closed)
	if err != nil {
		return 0, err
	}
	return info.State.LastSeq, nil
}

// Info returns the state of the stream.
func (j *Journal) Info(ctx context.Context) (*jetstream.StreamInfo, error) {
	info, err := j.stream.Info(ctx)
	if err != nil {
		return nil, j.explain(err)
	}
	return info, nil
}

// Trim removes records.
func (j *Journal) Trim(through uint64) error {
	if err := j.stream.Purge(j.closed, jetstream.WithPurgeSequence(through+1)); err != nil {
		return j.explain(err)
	}
	return nil
}

// Close ends all calls.
func (j *Journal) Close() error {
	j.once.Do(func() {
		j.close()
		if j.stop != nil {
			j.stop()
		}
	})
	return nil
}

// reader reads the messages of the stream.
type reader struct {
	j        *Journal
	next     uint64
	messages jetstream.MessagesContext
}

// Read returns a reader of the records from the given number on.
func (j *Journal) Read(from uint64) (journal.Reader, error) {
	from = max(from, 1)
	last, err := j.Last()
	if err != nil {
		return nil, err
	}
	if from > last+1 {
		return nil, fmt.Errorf("record %d is to be read next, but the last of the stream is %d: the stream is older than its snapshot", from, last)
	}
	consumer, err := j.stream.OrderedConsumer(j.closed, jetstream.OrderedConsumerConfig{
		DeliverPolicy: jetstream.DeliverByStartSequencePolicy, OptStartSeq: from,
	})
	if err != nil {
		return nil, j.explain(err)
	}
	messages, err := consumer.Messages()
	if err != nil {
		return nil, j.explain(err)
	}
	return &reader{j: j, next: from, messages: messages}, nil
}

// Next returns the next record.
func (r *reader) Next(ctx context.Context) (journal.Record, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.j.closed, cancel)()
	m, err := r.messages.Next(jetstream.NextContext(ctx))
	if err != nil {
		return journal.Record{}, r.j.explain(err)
	}
	meta, err := m.Metadata()
	if err != nil {
		return journal.Record{}, err
	}
	if meta.Sequence.Stream != r.next {
		return journal.Record{}, fmt.Errorf("record %d is not in the stream any more, the next is %d", r.next, meta.Sequence.Stream)
	}
	r.next++
	return journal.Record{Seq: meta.Sequence.Stream, Data: m.Data()}, nil
}

// Close ends the reading.
func (r *reader) Close() error {
	r.messages.Stop()
	return nil
}
