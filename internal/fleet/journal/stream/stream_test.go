package stream

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/cairnprof/cairn/internal/fleet/journal"
	"github.com/cairnprof/cairn/internal/fleet/journal/journaltest"
)

const (
	name         = "cairn"
	subject      = "cairn.journal"
	startTimeout = time.Minute // recovery reads the indexes of all blocks
)

// openServer starts a server in this process that keeps a journal in dir, which is created if it does
// not exist. The server syncs each message before it acknowledges it. By default it syncs
// every two minutes, and a power failure loses the messages that it acknowledged since.
func openServer(dir string) (*Journal, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := journal.TakeLock(dir)
	if err != nil {
		return nil, err
	}
	s, err := server.NewServer(&server.Options{
		ServerName: name, DontListen: true, NoSigs: true, NoLog: true, MaxPayload: MaxPayload,
		JetStream: true, StoreDir: filepath.Join(dir, "jetstream"), SyncAlways: true,
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: starting JetStream: %w", dir, err), lock.Close())
	}
	j, conn, err := start(s)
	stop := func() {
		if conn != nil {
			conn.Close()
		}
		s.Shutdown()
		s.WaitForShutdown()
		lock.Close()
	}
	if err != nil {
		stop()
		return nil, fmt.Errorf("%s: starting JetStream: %w", dir, err)
	}
	j.stop = stop
	return j, nil
}

func start(s *server.Server) (*Journal, *nats.Conn, error) {
	s.Start()
	if !s.ReadyForConnections(startTimeout) {
		return nil, nil, fmt.Errorf("not ready after %v", startTimeout)
	}
	conn, err := nats.Connect("", nats.InProcessServer(s), nats.MaxReconnects(-1))
	if err != nil {
		return nil, nil, err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return nil, conn, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	j, err := New(ctx, js, Config{Stream: name, Subject: subject, Replicas: 1, MaxPayload: MaxPayload})
	return j, conn, err
}

func open(dir string) (journal.Journal, error) {
	j, err := openServer(dir)
	if err != nil {
		return nil, err // no interface with a nil in it
	}
	return j, nil
}

func TestMain(m *testing.M) { journaltest.Main(m, open) }

func TestJournal(t *testing.T) {
	t.Parallel()
	journaltest.Run(t, open)
}

func BenchmarkAppend(b *testing.B) {
	j, err := openServer(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	journaltest.BenchmarkAppend(b, j)
}

// TestCodes checks that the error codes are those of the server.
func TestCodes(t *testing.T) {
	t.Parallel()
	if jsInsufficientResources != jetstream.ErrorCode(server.JSInsufficientResourcesErr) || jsStreamStoreFailed != jetstream.ErrorCode(server.JSStreamStoreFailedF) {
		t.Error("the codes of errors are not those of nats-server")
	}
}
