package push

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/fleet/collector"
	"github.com/cairnprof/cairn/internal/fleet/depot"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/fleet/gate"
	"github.com/cairnprof/cairn/internal/fleet/journal/segment"
	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/profile/rawfiles"
)

// server is a collector. The argument change of serve wraps its handler.
type server struct {
	url string
	c   *collector.Collector
}

func serve(t *testing.T, maxAll int64, share float64, change func(http.Handler) http.Handler) *server {
	t.Helper()
	dir := t.TempDir()
	j, err := segment.Open(filepath.Join(dir, "journal"), segment.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := depot.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	log := slog.New(slog.DiscardHandler)
	c, err := collector.Open(j, d, collector.Options{
		Limits: tally.Limits{Traces: fleettest.Traces, Logs: 1 << 20}, MaxWaiting: 1 << 20, SnapshotRecords: 10, SnapshotBytes: 1 << 20, SnapshotEvery: time.Hour,
		Free: func() (int64, error) { return 1 << 40, nil }, Log: log,
	})
	if err != nil {
		t.Fatal(err)
	}
	var h http.Handler = gate.New(c, gate.Options{MaxBody: 1 << 20, MaxFile: maxAll, MaxAll: maxAll, Memory: 1 << 24, Share: share, Log: log})
	if change != nil {
		h = change(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.Close()
		if err := c.Kill(); err != nil {
			t.Error(err)
		}
	})
	return &server{s.URL, c}
}

// check compares the profile with that of some raw files.
func (s *server) check(t *testing.T, p *fleettest.Program, raws map[string][]byte) {
	t.Helper()
	got, err := s.c.Profile(t.Context(), p.BuildID)
	if err != nil || !bytes.Equal(got, fleettest.Merged(t, []*fleettest.Program{p}, raws)) {
		t.Errorf("the profile is not that of %d raw files: %v", len(raws), err)
	}
}

// write writes raw files of runs to a directory.
func write(t *testing.T, dir string, p *fleettest.Program, from, to uint64) map[string][]byte {
	t.Helper()
	raws := map[string][]byte{}
	for run := from; run < to; run++ {
		path := filepath.Join(dir, fmt.Sprintf("app.%d.0.mipraw", run))
		raws[path] = p.Run(t, run)
		if err := os.WriteFile(path, raws[path], 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return raws
}

// left counts the files of a directory by suffix.
func left(t *testing.T, dir string) map[string]int {
	t.Helper()
	names, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	n := map[string]int{}
	for _, name := range names {
		n[filepath.Ext(name.Name())]++
	}
	return n
}

// options returns the options of a pusher that does not wait.
func options(t *testing.T, s *server, p *fleettest.Program, dir string) Options {
	return Options{
		Dirs: []string{dir}, URLs: []string{s.url}, Maps: [][]byte{p.MapFile(t)}, MaxBytes: 1 << 12, Patience: time.Hour, Client: client.New(""),
		Log: slog.New(slog.DiscardHandler), Sleep: func(ctx context.Context, _ time.Duration) error { return ctx.Err() },
	}
}

func newProgram() *fleettest.Program { return fleettest.NewProgram("app", "\x12\x34", 60) }

func TestAfter(t *testing.T) {
	t.Parallel()
	for after, want := range map[After]string{Mark: "map[.sent:30]", Delete: "map[]", Keep: "map[.mipraw:30]"} {
		s, p, dir := serve(t, 1<<20, 1, nil), newProgram(), t.TempDir()
		raws := write(t, dir, p, 1, 31)
		o := options(t, s, p, dir)
		o.After = after
		pusher := New(o)
		if sum, err := pusher.Once(t.Context()); err != nil || sum.Sent != 30 || sum.Known != 0 {
			t.Errorf("%+v, %v", sum, err)
		}
		if sum, err := pusher.Once(t.Context()); err != nil || sum != (Summary{}) {
			t.Errorf("again: %+v, %v", sum, err)
		}
		if got := fmt.Sprint(left(t, dir)); got != want {
			t.Errorf("left are %s, want %s", got, want)
		}
		s.check(t, p, raws)
	}
}

// TestLostAnswers loses half of the responses of a collector after it has stored the files, and lets it report a
// full disk in between: each file is counted once.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	var n atomic.Int64
	s := serve(t, 1<<20, 1, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch n.Add(1) % 4 {
			case 1:
				h.ServeHTTP(httptest.NewRecorder(), r)
				panic(http.ErrAbortHandler)
			case 2:
				w.Header().Set("Retry-After", "1")
				http.Error(w, "no room", http.StatusServiceUnavailable)
			default:
				h.ServeHTTP(w, r)
			}
		})
	})
	p, dir := newProgram(), t.TempDir()
	raws := write(t, dir, p, 1, 101)
	if sum, err := New(options(t, s, p, dir)).Once(t.Context()); err != nil || sum.Sent != 100 {
		t.Errorf("%+v, %v", sum, err)
	}
	if got := fmt.Sprint(left(t, dir)); got != "map[.sent:100]" {
		t.Error(got)
	}
	s.check(t, p, raws)
}

// TestUnreachable checks that Once gives up after Patience and leaves the other files
// unchanged, and that pauses grow.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	s := serve(t, 1<<20, 1, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusServiceUnavailable) })
	})
	p, dir := newProgram(), t.TempDir()
	write(t, dir, p, 1, 4)
	o := options(t, s, p, dir)
	var pauses []time.Duration
	o.Sleep = func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return nil
	}
	if _, err := New(o).Once(t.Context()); err == nil {
		t.Error("no error")
	}
	if got := fmt.Sprint(left(t, dir)); got != "map[.mipraw:3]" {
		t.Error(got)
	}
	for i, d := range pauses {
		most := min(10*time.Minute, time.Second<<min(i, 20))
		if d < most/2 || d > most {
			t.Errorf("pause %d is %v", i, d)
		}
	}
	if len(pauses) < 10 {
		t.Errorf("%d pauses in an hour", len(pauses))
	}
}

// TestForbidden checks that Once does not retry with a token that was rejected.
func TestForbidden(t *testing.T) {
	t.Parallel()
	s := serve(t, 1<<20, 1, func(http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusUnauthorized) })
	})
	o := options(t, s, newProgram(), t.TempDir())
	o.Sleep = func(context.Context, time.Duration) error {
		t.Error("it is tried again")
		return nil
	}
	if _, err := New(o).Once(t.Context()); err == nil || !strings.Contains(err.Error(), "CAIRN_TOKEN") {
		t.Error(err)
	}
}

// TestRefused checks that damaged files are rejected and kept, and that uploads that are too
// large are halved.
func TestRefused(t *testing.T) {
	t.Parallel()
	s, p, dir := serve(t, 2000, 1, nil), newProgram(), t.TempDir()
	raws := write(t, dir, p, 1, 31)
	for name, data := range map[string][]byte{"bad": p.Run(t, 99)[:100], "empty": nil, "long": make([]byte, 3000)} {
		if err := os.WriteFile(filepath.Join(dir, name+".mipraw"), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	o := options(t, s, p, dir)
	o.Maps, o.After, o.MaxBytes = nil, Delete, 1<<20
	if sum, err := New(o).Once(t.Context()); err != nil || sum.Sent != 30 || sum.Refused != 3 {
		t.Errorf("%+v, %v", sum, err)
	}
	if got := fmt.Sprint(left(t, dir)); got != "map[.refused:3]" {
		t.Error(got)
	}
	if builds, err := s.c.Builds(t.Context(), tally.Query{}); err != nil || builds[0].Waiting != len(raws) {
		t.Errorf("%+v, %v", builds, err)
	}
}

// TestShare checks that a collector gets the share of the files that it asks for, and that the
// selection is the same each time.
func TestShare(t *testing.T) {
	t.Parallel()
	for _, share := range []float64{0, 0.25} {
		p, dir := newProgram(), t.TempDir()
		write(t, dir, p, 1, 401)
		var counts []int
		for range 2 {
			o := options(t, serve(t, 1<<20, share, nil), p, dir)
			o.After = Keep
			sum, err := New(o).Once(t.Context())
			if err != nil || sum.Sent+sum.Skipped != 400 {
				t.Errorf("%+v, %v", sum, err)
			}
			counts = append(counts, sum.Sent)
		}
		// Builds are new in each test: 43 files are five standard deviations.
		low, high := int(share*400), int(share*400)
		if share > 0 {
			low, high = low-43, high+43
		}
		if counts[0] != counts[1] || counts[0] < low || counts[0] > high {
			t.Errorf("share %v: %v of 400 files are sent", share, counts)
		}
	}
}

// TestMaxAge checks that files older than the limit are not sent.
func TestMaxAge(t *testing.T) {
	t.Parallel()
	s, p, dir := serve(t, 1<<20, 1, nil), newProgram(), t.TempDir()
	for path := range write(t, dir, p, 1, 4) {
		old := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			t.Fatal(err)
		}
	}
	raws := write(t, dir, p, 4, 6)
	o := options(t, s, p, dir)
	o.MaxAge = time.Hour
	if sum, err := New(o).Once(t.Context()); err != nil || sum.Sent != 2 || sum.Skipped != 3 {
		t.Errorf("%+v, %v", sum, err)
	}
	s.check(t, p, raws)
}

// live returns the raw file of live memory of a process.
func live(t *testing.T, p *fleettest.Program, pid int, sealed bool) []byte {
	t.Helper()
	data, err := mip.AppendRaw(nil, mip.Raw{
		BuildID: p.BuildID, PID: uint32(pid), Run: 77, Size: p.RawSize, Continuous: true, Sealed: sealed,
		Data: append([]byte{1}, make([]byte, p.RawSize-1)...), Slots: 60, Next: 1, NextAt: 60, Order: []uint32{0},
	})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestLive checks that a file is not sent while its process has it mapped.
func TestLive(t *testing.T) {
	t.Parallel()
	ended := exec.Command(os.Args[0], "-test.run=^$")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	s, p, dir := serve(t, 1<<20, 1, nil), newProgram(), t.TempDir()
	path := filepath.Join(dir, "app.mipraw")
	round := func(what string, settle time.Duration, sent, waiting int) {
		t.Helper()
		o := options(t, s, p, dir)
		o.Settle, o.After = settle, Keep
		if sum, err := New(o).Once(t.Context()); err != nil || sum.Sent != sent || sum.Waiting != waiting {
			t.Errorf("%s: %+v, %v", what, sum, err)
		}
	}
	put := func(data []byte) {
		t.Helper()
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put(nil)
	round("being created", time.Hour, 0, 1)
	put(live(t, p, os.Getpid(), false))
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := syscall.Mmap(int(f.Fd()), 0, 4096, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	round("mapped", 0, 0, 1)
	put(live(t, p, os.Getpid(), true))
	round("sealed by a child of the process, which has it mapped", 0, 0, 1)
	put(live(t, p, os.Getpid(), false))
	if err := syscall.Munmap(m); err != nil {
		t.Fatal(err)
	}
	round("not mapped any more", 0, 1, 0)
	put(live(t, p, ended.Process.Pid, false))
	round("of a process that is gone, but young", time.Hour, 0, 1)
	round("of a process that is gone", 0, 1, 0)
	put(live(t, p, os.Getpid(), true))
	round("sealed", time.Hour, 1, 0)
}

// TestReplaced checks that a file that replaces one that is being sent is not changed.
func TestReplaced(t *testing.T) {
	t.Parallel()
	p, dir := newProgram(), t.TempDir()
	raws := write(t, dir, p, 1, 2)
	var path string
	for path = range raws {
	}
	var n atomic.Int64
	s := serve(t, 1<<20, 1, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && n.Add(1) == 2 { // after the map
				raws["new"] = p.Run(t, 2)
				if err := os.WriteFile(path, raws["new"], 0o666); err != nil {
					t.Error(err)
				}
			}
			h.ServeHTTP(w, r)
		})
	})
	o := options(t, s, p, dir)
	o.After = Delete
	pusher := New(o)
	if sum, err := pusher.Once(t.Context()); err != nil || sum.Sent != 1 {
		t.Errorf("%+v, %v", sum, err)
	}
	if got := fmt.Sprint(left(t, dir)); got != "map[.mipraw:1]" {
		t.Errorf("the file that came is gone: %s", got)
	}
	if _, err := pusher.Once(t.Context()); err != nil {
		t.Error(err)
	}
	s.check(t, p, raws)
}

// TestWatch checks that Watch sends files as they appear, and ends with its context.
func TestWatch(t *testing.T) {
	t.Parallel()
	s, p, dir := serve(t, 1<<20, 1, nil), newProgram(), t.TempDir()
	raws := map[string][]byte{}
	o := options(t, s, p, dir)
	o.After = Delete
	rounds := uint64(0)
	ctx, cancel := context.WithCancel(t.Context())
	o.Sleep = func(context.Context, time.Duration) error {
		if rounds++; rounds == 5 {
			cancel()
		}
		for path, data := range write(t, dir, p, rounds*10, rounds*10+rounds) {
			if rounds < 5 {
				raws[path] = data
			}
		}
		return ctx.Err()
	}
	if err := New(o).Watch(ctx, time.Second); err != nil {
		t.Error(err)
	}
	s.check(t, p, raws)
	if got := fmt.Sprint(left(t, dir)); got != "map[.mipraw:5]" {
		t.Error(got)
	}
}

// TestLogs checks that logs of spikes are sent like raw files, once their process has ended.
func TestLogs(t *testing.T) {
	t.Parallel()
	s, p, dir := serve(t, 1<<20, 1, nil), newProgram(), t.TempDir()
	logs := map[string][]byte{}
	zombie := exec.Command(os.Args[0], "-test.run=^$")
	if err := zombie.Start(); err != nil {
		t.Fatal(err)
	}
	defer zombie.Wait() //nolint:errcheck // only to be waited for
	for !rawfiles.HasEnded(zombie.Process.Pid) {
		time.Sleep(time.Millisecond)
	}
	for _, pid := range []uint32{1 << 22, 1<<22 + 1, uint32(zombie.Process.Pid)} { // no process has the first numbers
		w := tracelogtest.New(tracelog.Header{PID: pid, Realtime: 1e18, Monotonic: 1, TSCHz: 1e9})
		w.Module(&tracelog.Module{Number: 1, Start: 0x1000, End: 0x2000, BuildID: []byte(p.BuildID), Path: "/opt/app", Main: true})
		w.Close()
		path := filepath.Join(dir, fmt.Sprintf("app.1234.%d.0.cairnlog", pid))
		logs[filepath.Base(path)] = w.Bytes()
		if err := os.WriteFile(path, w.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	sum, err := New(options(t, s, p, dir)).Once(t.Context())
	if err != nil || sum.Sent != 3 {
		t.Fatalf("%+v, %v", sum, err)
	}
	if got := fmt.Sprint(left(t, dir)); got != "map[.sent:3]" {
		t.Error(got)
	}
	list, err := s.c.Logs(t.Context(), p.BuildID)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d logs, %v", len(list), err)
	}
	for _, l := range list {
		got, err := s.c.LogFile(t.Context(), p.BuildID, l.Key)
		if want, ok := logs[l.Name]; err != nil || !ok || !bytes.Equal(got, want) {
			t.Errorf("the collector has another log %s: %v", l.Name, err)
		}
	}
}

// TestNextURL checks that if a collector fails, the next URL gets the files, and that each file
// is counted once.
func TestNextURL(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		http.Error(w, "no space", http.StatusInsufficientStorage)
	}))
	defer broken.Close()
	s, p, dir := serve(t, 1<<20, 1, nil), newProgram(), t.TempDir()
	raws := write(t, dir, p, 1, 20)
	o := options(t, s, p, dir)
	o.URLs = []string{"http://127.0.0.1:1", broken.URL, s.url} // the first refuses connections
	sum, err := New(o).Once(t.Context())
	if err != nil || sum.Sent != 19 {
		t.Errorf("%+v, %v", sum, err)
	}
	if requests.Load() == 0 {
		t.Error("the second URL got no request")
	}
	s.check(t, p, raws)
}

func TestURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"http://localhost:1/": "http://localhost:1", "https://a/b": "https://a/b", "ftp://a": "", "a": "", "http://": "",
		"http://u:p@a": "", "http://a?q": "", "http://a#f": "", "http://a b": "",
	} {
		if got, err := client.CheckURL(text); got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}
