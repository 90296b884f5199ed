// Package stream keeps a journal in a stream of NATS JetStream, of a server in this process.
//
// Each record is a message, its number the message's. The server syncs each message before it
// acknowledges it: by default it would do so every two minutes, and what was acknowledged in
// between would be lost with the machine's power.
package stream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cairnprof/cairn/internal/fleet/journal"
)

const (
	name    = "cairn"
	subject = "cairn.journal"

	// MaxRecord is the maximum of bytes of a record: that of a message, less its headers.
	MaxRecord  = maxPayload - 1<<10
	maxPayload = 64 << 20

	startTimeout = time.Minute // recovery reads the indexes of all blocks
)

// Journal is a journal in a stream.
type Journal struct {
	lock   *os.File
	server *server.Server
	conn   *nats.Conn
	js     jetstream.JetStream
	stream jetstream.Stream

	once   sync.Once
	closed context.Context
	close  context.CancelFunc
}

// Open starts a server that keeps its files in dir, which is created if it does not exist.
func Open(dir string) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := journal.Lock(dir)
	if err != nil {
		return nil, err
	}
	j := &Journal{lock: lock}
	j.closed, j.close = context.WithCancel(context.Background())
	if err := j.start(dir); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: starting JetStream: %w", dir, err), j.Close())
	}
	return j, nil
}

func (j *Journal) start(dir string) (err error) {
	j.server, err = server.NewServer(&server.Options{
		ServerName: name, DontListen: true, NoSigs: true, NoLog: true, MaxPayload: maxPayload,
		JetStream: true, StoreDir: filepath.Join(dir, "jetstream"), SyncAlways: true,
	})
	if err != nil {
		return err
	}
	j.server.Start()
	if !j.server.ReadyForConnections(startTimeout) {
		return fmt.Errorf("not ready after %v", startTimeout)
	}
	if j.conn, err = nats.Connect("", nats.InProcessServer(j.server), nats.MaxReconnects(-1)); err != nil {
		return err
	}
	if j.js, err = jetstream.New(j.conn); err != nil {
		return err
	}
	j.stream, err = j.js.CreateOrUpdateStream(j.closed, jetstream.StreamConfig{
		Name: name, Subjects: []string{subject}, Storage: jetstream.FileStorage,
		Discard: jetstream.DiscardNew, DenyDelete: true, AllowDirect: true,
	})
	return err
}

// Append publishes a record.
func (j *Journal) Append(ctx context.Context, data []byte) (uint64, error) {
	if len(data) > MaxRecord {
		return 0, fmt.Errorf("%w: %d bytes, at most %d are allowed", journal.ErrTooLarge, len(data), MaxRecord)
	}
	ack, err := j.js.Publish(ctx, subject, data)
	if err != nil {
		return 0, j.explain(err)
	}
	return ack.Sequence, nil
}

// explain gives errors the meaning that package journal has for them.
func (j *Journal) explain(err error) error {
	var api *jetstream.APIError
	switch {
	case j.closed.Err() != nil:
		return journal.ErrClosed
	case errors.Is(err, syscall.ENOSPC), errors.As(err, &api) && api.ErrorCode == jetstream.ErrorCode(server.JSInsufficientResourcesErr):
		return fmt.Errorf("%w: %w", journal.ErrFull, err)
	}
	return err
}

// Last returns the number of the last record.
func (j *Journal) Last() (uint64, error) {
	info, err := j.stream.Info(j.closed)
	if err != nil {
		return 0, j.explain(err)
	}
	return info.State.LastSeq, nil
}

// Trim removes records.
func (j *Journal) Trim(through uint64) error {
	if err := j.stream.Purge(j.closed, jetstream.WithPurgeSequence(through+1)); err != nil {
		return j.explain(err)
	}
	return nil
}

// Close stops the server.
func (j *Journal) Close() error {
	j.once.Do(func() {
		j.close()
		if j.conn != nil {
			j.conn.Close()
		}
		if j.server != nil {
			j.server.Shutdown()
			j.server.WaitForShutdown()
		}
		j.lock.Close()
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
