package collect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/internal/fleet/fleettest"
)

// jumpyClock builds this test with a package time whose clock jumps, for the collector. Programs such as faketime change the time of libc, which Go does not use.
func jumpyClock(t *testing.T) (bin string, set func(ahead time.Duration)) {
	t.Helper()
	if testing.Short() {
		t.Skip("building the standard library anew takes minutes")
	}
	dir := t.TempDir()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Skip(err)
	}
	changed := strings.NewReplacer(
		"	sec, nsec, mono := runtimeNow()\n", "	sec, nsec, mono := runtimeNow()\n	sec += atomic.LoadInt64(&Jump)\n",
		"func Now() Time {", "// Jump is how many seconds the clock is ahead.\nvar Jump int64\n\nfunc Now() Time {",
		"import (\n", "import (\n	\"sync/atomic\"\n",
	).Replace(string(text))
	if strings.Count(changed, "Jump") != 3 {
		t.Skipf("%s is not as it was in Go 1.26", source)
	}
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: filepath.Join(dir, "time.go")}})
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"time.go": []byte(changed), "overlay.json": overlay, "clock": []byte("0")} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	bin = filepath.Join(dir, "collect.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-vet=off", "-tags", "clockjump", "-overlay", filepath.Join(dir, "overlay.json"), "-o", bin, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	clock := filepath.Join(dir, "clock")
	t.Setenv("CAIRN_TEST_CLOCK", clock)
	return bin, func(ahead time.Duration) {
		t.Helper()
		// In one step: a reader must not see half of it.
		next := clock + ".new"
		err := os.WriteFile(next, fmt.Appendf(nil, "%d\n", int64(ahead/time.Second)), 0o600)
		if err == nil {
			err = os.Rename(next, clock)
		}
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(50 * time.Millisecond) // until the processes have read it
	}
}

// jumps are the states of the clock, against the real one, while files come.
var jumps = []time.Duration{0, 20 * 365 * 24 * time.Hour, -30 * 365 * 24 * time.Hour, 3 * time.Hour, -3 * time.Hour, 0}

// TestClock lets the clock jump by years, forwards and backwards, while files arrive and while
// collectors start. It checks that the profiles have all runs, and that --keep removes nothing.
func TestClock(t *testing.T) {
	bin, set := jumpyClock(t)
	t.Run("one machine", func(t *testing.T) {
		dir := t.TempDir()
		program, raws := fleettest.NewProgram("app", "\x01\x02", 50), map[string][]byte{}
		for i, ahead := range jumps {
			p := startProgram(t, build{bin: bin}, dir, "--snapshot", "20ms", "--keep", "1h")
			if i == 0 {
				if err := send(p.url, program.MapFile(t)); err != nil {
					t.Fatal(err)
				}
			}
			for half := range 2 {
				for range 20 {
					run := uint64(len(raws) + 1)
					raws[fmt.Sprint(run)] = program.Run(t, run)
					if err := send(p.url, raws[fmt.Sprint(run)]); err != nil {
						t.Fatal(err)
					}
				}
				if half == 0 {
					set(ahead) // while it runs; the next starts with it
				}
			}
			if got := get(t, p.url+"/app"); !bytes.Equal(got, fleettest.Merged(t, []*fleettest.Program{program}, raws)) {
				t.Errorf("%v ahead: the profile is not that of the %d runs, but has %d", ahead, len(raws), runsOf(t, got))
			}
			if err := p.end(syscall.SIGKILL); err == nil {
				t.Fatalf("the collector ended by itself: %s", &p.talk)
			}
		}
	})
	set(0)
	t.Run("object store", func(t *testing.T) {
		c := (&trio{t: t, bin: bin, args: []string{"--snapshot", "100ms", "--keep", "1h"}}).startAll()
		f, l := c.begin(8)
		for i, ahead := range jumps {
			l.runs(f, 60)
			set(ahead)
			l.runs(f, 60)
			c.kill(i % 3)
		}
		c.finish(f, l)
	})
}
