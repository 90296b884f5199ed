package collect

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/verb"
	"github.com/cairnprof/cairn/prof"
)

const asCommand = "CAIRN_TEST_COLLECT"

// TestMain runs cairn collect instead of the tests if a variable is set.
func TestMain(m *testing.M) {
	if os.Getenv(asCommand) == "" {
		os.Exit(m.Run())
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	c := Collect(&verb.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})
	c.SilenceUsage = true
	if c.ExecuteContext(ctx) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

// process is a running collector.
type process struct {
	cmd  *exec.Cmd
	url  string
	talk bytes.Buffer
}

func start(t testing.TB, dir string, args ...string) *process {
	t.Helper()
	return startProgram(t, build{}, dir, args...)
}

// build is a build of this test: this one if bin is "".
type build struct {
	bin string
	env []string // more variables
}

func startProgram(t testing.TB, from build, dir string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(cmp.Or(from.bin, os.Args[0]), append([]string{"--listen", "127.0.0.1:0", "--traces", fmt.Sprint(fleettest.Traces), dir}, args...)...)}
	p.cmd.Env = slices.Concat(os.Environ(), from.env, []string{asCommand + "=1"})
	p.cmd.Stderr = &p.talk
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			p.end(syscall.SIGKILL)
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.end(syscall.SIGKILL)
		t.Fatalf("the collector does not start: %v: %s", err, &p.talk)
	}
	p.url = strings.TrimSpace(line)
	return p
}

func (p *process) end(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return p.cmd.Wait()
}

// send sends a body to a collector.
func send(url string, body []byte) error {
	_, err := client.New("").Send(context.Background(), url, body)
	return err
}

func get(t *testing.T, url string) []byte {
	t.Helper()
	data, err := client.New("").Get(t.Context(), url, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestKill kills a collector under load, many times. Files that were not acknowledged are sent
// again. It checks that the profile has all runs, each counted once.
func TestKill(t *testing.T) {
	t.Parallel()
	lives, each := 100, 30
	if testing.Short() {
		lives = 6
	}
	dir := t.TempDir()
	program := fleettest.NewProgram("app", "\x01\x02", 50)
	raws := map[string][]byte{}
	for life := range lives {
		todo := map[string][]byte{}
		for i := range each {
			run := uint64(life*each + i + 1)
			todo[fmt.Sprint(run)] = program.Run(t, run)
		}
		maps.Copy(raws, todo)
		if life == 1 {
			todo["map"] = program.MapFile(t)
		}
		for attempt := 0; len(todo) > 0; attempt++ {
			p := start(t, dir, "--snapshot", "5ms")
			killUnderLoad(t, p, todo, each/2+attempt*each)
		}
	}
	p := start(t, dir)
	got := get(t, p.url+"/app")
	if want := fleettest.Merged(t, []*fleettest.Program{program}, raws); !bytes.Equal(got, want) {
		t.Errorf("after %d kills the profile is not that of all runs", lives)
	}
	if err := p.end(syscall.SIGTERM); err != nil {
		t.Errorf("it ends with %v: %s", err, &p.talk)
	}
	p = start(t, dir)
	if again := get(t, p.url+"/app"); !bytes.Equal(got, again) {
		t.Error("after an end in order the profile is another")
	}
}

// killUnderLoad sends files from several goroutines, kills the collector after it acknowledged
// so many, and leaves in todo what it did not.
func killUnderLoad(t *testing.T, p *process, todo map[string][]byte, after int) {
	t.Helper()
	type file struct {
		name string
		data []byte
	}
	files := make(chan file, len(todo))
	for name, data := range todo {
		files <- file{name, data}
	}
	close(files)
	var mu sync.Mutex
	var wg sync.WaitGroup
	acknowledged := 0
	for range 4 {
		wg.Go(func() {
			for f := range files {
				if send(p.url, f.data) != nil {
					continue
				}
				mu.Lock()
				delete(todo, f.name)
				if acknowledged++; acknowledged == after {
					p.cmd.Process.Kill() //nolint:errcheck // it may be gone
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := p.end(syscall.SIGKILL); err == nil {
		t.Fatalf("the collector ended by itself: %s", &p.talk)
	}
}

// TestFull fills the disk. It checks that uploads are rejected with the right status, that
// acknowledged runs are kept, and that the next process continues.
func TestFull(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "full")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("mounting a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	for _, minFree := range []string{"300KB", "1B"} { // by the check, and by the disk itself
		program := fleettest.NewProgram("app"+minFree, prof.BuildID("build "+minFree), 2000)
		p := start(t, dir, "--min-free", minFree, "--snapshot", "1h")
		if err := send(p.url, program.MapFile(t)); err != nil {
			t.Fatal(err)
		}
		raws := map[string][]byte{}
		for run := uint64(1); ; run++ {
			data := program.Run(t, run)
			err := send(p.url, data)
			var answer *client.Error
			if errors.As(err, &answer) && answer.Status == http.StatusInsufficientStorage {
				break
			}
			if err != nil || run > 5000 {
				t.Fatalf("after %d runs: %v", run, err)
			}
			raws[fmt.Sprint(run)] = data
		}
		want := fleettest.Merged(t, []*fleettest.Program{program}, raws)
		if got := get(t, p.url+"/"+program.Module); !bytes.Equal(got, want) {
			t.Errorf("--min-free %s: on the full disk the profile is not that of what was acknowledged", minFree)
		}
		p.end(syscall.SIGKILL)
		p = start(t, dir)
		if got := get(t, p.url+"/"+program.Module); !bytes.Equal(got, want) {
			t.Errorf("--min-free %s: the next process has another profile", minFree)
		}
		p.end(syscall.SIGKILL)
	}
}

// TestListen checks that other machines are not served without tokens.
func TestListen(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"--listen", "0.0.0.0:0", t.TempDir()}, {"--share", "2", t.TempDir()}, {"--cert", "x", t.TempDir()}, {"--log-format", "x", t.TempDir()}, {},
	} {
		if err := runCollect(t, args); !errors.As(err, new(verb.UsageError)) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

// runCollect runs the command in this process, which is to fail at once.
func runCollect(t *testing.T, args []string) error {
	t.Helper()
	c := Collect(&verb.Streams{Out: io.Discard, Err: io.Discard})
	c.SetArgs(args)
	c.SilenceErrors, c.SilenceUsage = true, true
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return c.ExecuteContext(ctx)
}

func newClient() *client.Client { return client.New("") }

// TestTwice checks that only one process at a time uses a directory.
func TestTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start(t, dir)
	cmd := exec.Command(os.Args[0], "--listen", "127.0.0.1:0", dir)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "another process uses") {
		t.Errorf("%v: %s", err, out)
	}
}
