// Package collect has the commands that bring files of many machines together.
package collect

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/internal/disk"
	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/fleet/gate"
	"github.com/cairnprof/cairn/internal/fleet/journal/segment"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/inputs/gather"
	"github.com/cairnprof/cairn/internal/objectstore"
	"github.com/cairnprof/cairn/internal/verb"
)

// collectFlags are the settings of a collector.
type collectFlags struct {
	listen, tokens, cert, key, logFormat string
	clientCA, audit                      string
	limitFlags
	keepFlags
}

// limitFlags limit what a collector accepts.
type limitFlags struct {
	maxBody, maxFile, memory   verb.SizeFlag
	waiting, minFree, maxDebug verb.SizeFlag
	maxKept                    verb.SizeFlag
	maxUnknown, maxPlaces      int
	rate                       float64 // uploads per second from an address; 0: any
	maxCalls                   uint64
}

// keepFlags say what a collector keeps of what it accepted.
type keepFlags struct {
	logs                verb.SizeFlag
	every, keep         time.Duration
	traces, debugBuilds int
	share               float64 // of their raw files that senders are asked to send
}

const collectHelp = `collect listens for uploads of raw files, packs, maps, and logs of modes spike and stacks
(cairn push sends them), stores them in DIR, which it creates, and merges them by program
and build. An upload is acknowledged when it is on the disk. An upload that is sent again
is counted once.

Raw files need the map of their build, which cairn push app sends before or after
them. Raw files without a map are stored until it arrives, up to --waiting bytes.

The profile of a program is at http://HOST:PORT/PROGRAM@BUILD, where BUILD is the build
id or its first digits; without @BUILD it contains all builds. Every command that takes a profile
takes such a URL. A browser shows an overview at http://HOST:PORT/. docs/fleet-reference.md lists
all requests.

Without --tokens only this machine is served. The file of tokens has a line for each token:
  write TOKEN              may send raw files and logs
  write,publish TOKEN      may also send maps and debug files
  read TOKEN               may read profiles
  read TOKEN app tool      only those of the programs app and tool
  backup TOKEN             may copy everything (cairn collect backup)
SIGHUP makes collect read the file again. A file that all users can read is rejected.

If collect is killed, nothing that was acknowledged is lost: the next collect continues
with DIR. Damage of DIR costs only the uploads in the damaged parts; cairn collect verify
lists it. SIGTERM shuts it down. When it listens, it prints its address, one line on
standard output.

In place of DIR, s3://BUCKET/PREFIX names a place in an object store: Amazon S3, or one with
its API (MinIO, Ceph, Google Cloud Storage, Cloudflare R2), whose address is in
AWS_ENDPOINT_URL. Any number of collectors can share it, each of which takes uploads and serves
everything; they have no other state and do not know of each other. Keys and region are in
the variables of Amazon's command line: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY,
AWS_SESSION_TOKEN, AWS_REGION.`

// Collect returns the command cairn collect.
func Collect(s *verb.Streams) *cobra.Command {
	f := collectFlags{
		limitFlags: limitFlags{maxBody: 32 << 20, maxFile: 64 << 20, memory: 512 << 20, waiting: 256 << 20, minFree: 64 << 20, maxDebug: 2 << 30, maxUnknown: 10_000, maxPlaces: 1 << 18},
		keepFlags:  keepFlags{logs: 64 << 20},
	}
	c := &cobra.Command{
		Use:   "collect {DIR | s3://BUCKET/PREFIX}",
		Short: "Collect raw files and logs of many machines over HTTP, and serve their profiles",
		Long:  collectHelp,
		Example: `  cairn collect /var/lib/cairn
  cairn collect s3://fleet/cairn --tokens tokens --listen 0.0.0.0:7474
  cairn push app raws --to http://127.0.0.1:7474
  cairn order --format auto http://127.0.0.1:7474/app -o order.txt`,
		Args: verb.ExactFiles("collect", "one directory or place in an object store", 1, 1),
		RunE: func(c *cobra.Command, args []string) error { return f.run(c.Context(), s, args[0]) },
	}
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:7474", "the `address` to listen on; port 0 selects a free port")
	c.Flags().StringVar(&f.tokens, "tokens", "", "the `file` of tokens; required if --listen is not an address of this machine only")
	c.Flags().StringVar(&f.cert, "cert", "", "TLS certificate chain, a PEM `file`")
	c.Flags().StringVar(&f.key, "key", "", "private key of --cert, a PEM `file`")
	c.Flags().Var(&f.maxBody, "max-body", "maximum size of an upload, compressed as it is sent")
	c.Flags().Var(&f.maxFile, "max-file", "maximum size of a file, and of an upload after it is unpacked")
	c.Flags().Var(&f.memory, "max-memory", "maximum memory of the process: of what is kept of builds and files, of which the rest is on the disk, and of uploads in progress; at least 128MB")
	c.Flags().IntVar(&f.maxUnknown, "max-unknown", f.maxUnknown, "maximum number of builds without a map that one token has sent first; 0 for no limit")
	c.Flags().IntVar(&f.maxPlaces, "max-places", f.maxPlaces, "maximum number of places of spikes in the logs of one token; 0 for no limit")
	c.Flags().Var(&f.maxKept, "max-kept", "maximum size of the logs, maps and raw files without a map of one token; without it, half of what the disk has for all")
	c.Flags().Var(&f.waiting, "waiting", "maximum size of all raw files whose map is missing")
	c.Flags().Var(&f.minFree, "min-free", "reject uploads if the disk has less free space")
	c.Flags().Float64Var(&f.rate, "rate", 0, "maximum number of uploads per second from an address; 0 for no limit")
	c.Flags().Float64Var(&f.share, "share", 1, "the share of their raw files that senders are asked to send, 0 to 1")
	c.Flags().DurationVar(&f.every, "snapshot", 30*time.Second, "maximum interval between writes of the merged profiles")
	c.Flags().IntVar(&f.traces, "orders", gather.DefaultTraces, "keep the recorded orders of at most this many runs of a build, a uniform sample of all")
	c.Flags().IntVar(&f.traces, "traces", gather.DefaultTraces, "the same as --orders")
	verb.Hide(c, "traces")
	c.Flags().Uint64Var(&f.maxCalls, "max-calls", 1<<32, "scale a run with more than `n` calls down to n, so that one device cannot outweigh the others; 0 for no limit")
	c.Flags().Var(&f.logs, "logs", "maximum size of the logs of a build; the oldest are removed")
	c.Flags().DurationVar(&f.keep, "keep", 0, "remove a build if it gets no upload for this long; 0 for never")
	c.Flags().Var(&f.maxDebug, "max-debug", "maximum size of a program or a debug file")
	c.Flags().IntVar(&f.debugBuilds, "debug-builds", 100, "keep programs and debug files of the last `n` builds that sent them; 0 for all")
	c.Flags().StringVar(&f.clientCA, "client-ca", "", "require client certificates signed by this authority, a PEM `file`; needs --cert")
	c.Flags().StringVar(&f.audit, "audit", "", "append a line of JSON for each upload and each rejected request to this `file`")
	c.AddCommand(newVerifyCmd(s), newRepairCmd(s), newBackupCmd(s))
	c.Flags().StringVar(&f.logFormat, "log-format", "text", "`format` of messages, text or json")
	verb.Rules(c, verb.Together("cert", "key"), verb.Needs("client-ca", "cert"))
	verb.Group(c, "Limits", "max-body", "max-file", "max-memory", "max-unknown", "max-places", "max-kept", "waiting", "min-free", "rate", "max-calls", "max-debug")
	verb.Group(c, "What is kept", "orders", "logs", "keep", "debug-builds", "snapshot", "share")
	verb.Seldom(c, "max-file", "max-unknown", "max-places", "max-kept", "waiting", "min-free", "max-calls", "max-debug", "snapshot", "log-format")
	return c
}

func (f *collectFlags) run(ctx context.Context, s *verb.Streams, dir string) (err error) {
	log, err := f.check(s)
	if err != nil {
		return err
	}
	tokens, err := f.readTokens()
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	if tokens == nil && !listener.Addr().(*net.TCPAddr).IP.IsLoopback() {
		return verb.Usagef("collect: --listen %s is for other machines, too: give --tokens FILE", f.listen)
	}
	verb.EndsInOrder.Store(true)
	// What the Go runtime does not count, above all the program's own code, takes the rest.
	debug.SetMemoryLimit(int64(f.memory) - int64(f.memory)/16 - 40<<20)
	c, err := f.open(dir, log)
	if err != nil {
		return err
	}
	audit, err := f.openAudit()
	if err != nil {
		return errors.Join(err, c.Close(ctx))
	}
	defer audit.Close()
	connections := gate.NewConnections(listener, mostConnections())
	g := gate.New(c, gate.Options{
		Connections: connections, Debug: c, MaxDebug: int64(f.maxDebug), Temp: c.temp(), Audit: audit.Logger,
		Tokens: tokens, MaxBody: int64(f.maxBody), MaxFile: int64(f.maxFile), MaxAll: int64(f.maxFile), Memory: int64(f.memory),
		Rate: f.rate, Share: f.share, Log: log, Limits: f.perToken(), MaxMemory: int64(f.memory),
	})
	if tokens != nil {
		f.rereadTokens(ctx, g, log)
	}
	err = f.serve(ctx, s, g, connections, log)
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return errors.Join(err, c.Close(ending))
}

const minMemory = 128 << 20

// mostConnections returns how many connections there may be: each has 17 kB, and a file descriptor, of which half are for
// other things.
func mostConnections() int {
	most := uint64(4096)
	if files, ok := mostFiles(); ok {
		most = max(16, min(most, files/2))
	}
	return int(most)
}

// perToken returns what may be kept of one token.
func (f *collectFlags) perToken() tally.Use {
	u := tally.Use{Unknown: f.maxUnknown, Places: f.maxPlaces, Bytes: int64(f.maxKept)}
	if f.tokens != "" {
		u.Memory = int64(f.memory) / 16 * 3 // half of the memory for what is kept
	}
	return u
}

// check checks the flags and returns the log.
func (f *collectFlags) check(s *verb.Streams) (*slog.Logger, error) {
	switch {
	case f.share < 0 || f.share > 1:
		return nil, verb.Usagef("collect: --share %v: must be from 0 to 1", f.share)
	case f.rate < 0:
		return nil, verb.Usagef("collect: --rate %v: must not be negative", f.rate)
	case f.every <= 0:
		return nil, verb.Usagef("collect: --snapshot %v: must be positive", f.every)
	case f.keep < 0:
		return nil, verb.Usagef("collect: --keep %v: must not be negative", f.keep)
	case f.debugBuilds < 0:
		return nil, verb.Usagef("collect: --debug-builds %d: must not be negative", f.debugBuilds)
	case f.memory < minMemory:
		return nil, verb.Usagef("collect: --max-memory %v: must be at least 128MB", &f.memory)
	case f.maxUnknown < 0 || f.maxPlaces < 0:
		return nil, verb.Usagef("collect: --max-unknown and --max-places must not be negative")
	case f.traces < 0:
		return nil, verb.Usagef("collect: --orders %d: must not be negative", f.traces)
	}
	switch f.logFormat {
	case "text":
		return slog.New(slog.NewTextHandler(s.Err, nil)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(s.Err, nil)), nil
	}
	return nil, verb.Usagef("collect: --log-format %s: text and json are known", f.logFormat)
}

func (f *collectFlags) readTokens() (gate.Tokens, error) {
	if f.tokens == "" {
		return nil, nil
	}
	data, err := readPrivate(f.tokens)
	if err != nil {
		return nil, err
	}
	return gate.ParseTokens(bytes.NewReader(data), f.tokens)
}

// backend is a collector in a directory, or one of those that share an object store.
type backend interface {
	gate.Backend
	gate.DebugFiles
	Close(context.Context) error
	temp() string // directory for uploads of programs and debug files
}

// open opens the collector in a directory or in an object store.
func (f *collectFlags) open(dir string, log *slog.Logger) (backend, error) {
	options := collector.Options{
		Limits: tally.Limits{Traces: f.traces, Logs: int64(f.logs), MaxCalls: f.maxCalls, Memory: int64(f.memory) / 8 * 3}, Sender: f.perToken(), MaxWaiting: int64(f.waiting),
		SnapshotRecords: 50_000, SnapshotBytes: 64 << 20, SnapshotEvery: f.every, Keep: f.keep, Grace: time.Hour,
		MinFree: int64(f.minFree), Free: func() (int64, error) { return free(dir) }, Log: log,
	}
	if strings.HasPrefix(dir, objectstore.Scheme) {
		return f.openStore(dir, options)
	}
	j, err := segment.Open(filepath.Join(dir, "journal"), segment.Options{Damaged: func(d segment.Damage) { logDamage(log, &d) }})
	if err != nil {
		return nil, err
	}
	programs, err := depot.OpenDebug(debugDir(dir), f.debugBuilds)
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	d, err := depot.Open(dir)
	if err != nil {
		return nil, errors.Join(err, j.Close())
	}
	c, err := collector.Open(j, d, options)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w (cairn collect verify %s lists all damage, repair continues without it)", dir, err, dir), j.Close())
	}
	return &single{c, programs, d, debugDir(dir)}, nil
}

// logDamage reports a damaged part of the journal.
func logDamage(log *slog.Logger, d *segment.Damage) {
	args := []any{"file", d.File, "offset", d.Off, "bytes", d.Bytes, "aside", d.Aside}
	if d.Err != nil {
		args = append(args, "error", d.Err)
	}
	if d.Tail {
		log.Warn("removed the end of the journal: a record that was being written when the last process ended, or a damaged one", args...)
		return
	}
	log.Error("the journal is damaged; the records after the damage are kept", append(args, "records", d.Lost)...)
}

// debugDir is where programs and debug files are, and their temporary files.
func debugDir(dir string) string { return filepath.Join(dir, "debug") }

// single is a collector on one machine.
type single struct {
	*collector.Collector
	*depot.DebugDir
	snapshots *depot.Dir
	programs  string // directory of programs and debug files
}

func (s *single) temp() string { return s.programs }

// auditLog is the audit log; its Logger is nil if there is none.
type auditLog struct {
	*slog.Logger
	file *os.File
}

func (f *collectFlags) openAudit() (*auditLog, error) {
	if f.audit == "" {
		return &auditLog{}, nil
	}
	file, err := os.OpenFile(f.audit, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return &auditLog{slog.New(slog.NewJSONHandler(file, nil)), file}, nil
}

// Close closes the file.
func (a *auditLog) Close() error { return a.file.Close() }

// scheme returns the scheme of the collector's URL.
func (f *collectFlags) scheme() string {
	if f.cert != "" {
		return "https"
	}
	return "http"
}

// free returns the bytes that are free on the disk of a directory.
func free(dir string) (int64, error) {
	space, err := disk.SpaceAt(dir)
	return int64(space.Free), err
}

// serve serves requests until ctx ends, and then completes those in progress.
func (f *collectFlags) serve(ctx context.Context, s *verb.Streams, g *gate.Gate, l net.Listener, log *slog.Logger) error {
	server := &http.Server{
		Handler: g, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 5 * time.Minute, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 16 << 10,
	}
	if f.clientCA != "" {
		pool, err := readPool(f.clientCA)
		if err != nil {
			return err
		}
		server.TLSConfig = &tls.Config{ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS12}
	}
	ended := make(chan error, 1)
	if f.cert != "" {
		go func() { ended <- server.ServeTLS(l, f.cert, f.key) }()
	} else {
		go func() { ended <- server.Serve(l) }()
	}
	fmt.Fprintf(s.Out, "%s://%s\n", f.scheme(), l.Addr())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	g.Closing()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return server.Shutdown(ending)
}
