package collect

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/prof"
)

// invented returns a build id that no build has.
func invented(n int) prof.BuildID {
	return prof.BuildID(binary.BigEndian.AppendUint64([]byte("invented"), uint64(n)))
}

// TestInvention lets one token send spikes of invented builds at many places, and runs of many invented builds. The
// collector's memory stays below --max-memory, what is too much for one token gets 429, and what another token sends
// meanwhile is there, also after a kill. Without limits for tokens, all is on the disk.
func TestInvention(t *testing.T) {
	t.Parallel()
	t.Run("limits", func(t *testing.T) {
		t.Parallel()
		if refused := invention(t); refused == 0 {
			t.Error("one token may send everything")
		}
	})
	t.Run("no limits", func(t *testing.T) {
		t.Parallel()
		if refused := invention(t, "--max-places", "0", "--max-unknown", "0"); refused > 0 {
			t.Errorf("%d uploads are refused without limits", refused)
		}
	})
}

// invention returns how many uploads of the liar got 429.
func invention(t *testing.T, limits ...string) (refused int) {
	t.Helper()
	logs, places, builds, memory := 60, 16_000, 70_000, int64(512<<20)
	if testing.Short() {
		logs, places, builds, memory = 20, 4_000, 12_000, 128<<20
	}
	tokens := filepath.Join(t.TempDir(), "tokens")
	const honest, liar = "honest-token-0123456789", "liar-token-0123456789"
	if err := os.WriteFile(tokens, []byte("write,publish,read "+honest+" app\nwrite "+liar+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{"--tokens", tokens, "--max-memory", fmt.Sprintf("%dMB", memory>>20), "--snapshot", "300ms"}, limits...)
	dir := t.TempDir()
	p := start(t, dir, args...)
	program := fleettest.NewProgram("app", "\x01\x02", 300)
	good, bad := client.New(honest), client.New(liar)
	raws := map[string][]byte{}
	must := func(body []byte) {
		t.Helper()
		if _, err := good.Send(t.Context(), p.url, body); err != nil {
			t.Fatal(err)
		}
	}
	must(program.MapFile(t))
	invent := func(body []byte) {
		t.Helper()
		_, err := bad.Send(t.Context(), p.url, body)
		var e *client.Error
		if errors.As(err, &e) && e.Status == http.StatusTooManyRequests {
			refused++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for i := range logs {
		invent(fleettest.SpikeLog(uint32(i+1), "app", invented(i), 0x1000, places))
		run := program.Run(t, uint64(i+1))
		raws[fmt.Sprint(i)] = run
		must(run)
	}
	const each = 1000
	for i := 0; i < builds; i += each {
		var files []bundle.File
		for n := i; n < min(builds, i+each); n++ {
			files = append(files, bundle.File{Data: fleettest.NewProgram("", invented(1e6+n), 1).Run(t, 1)})
		}
		body, err := bundle.Append(nil, files)
		if err != nil {
			t.Fatal(err)
		}
		invent(body)
	}
	bounded(t, p, memory)
	p.end(syscall.SIGKILL)
	began := time.Now()
	p = start(t, dir, args...)
	want := fleettest.Merged(t, []*fleettest.Program{program}, raws)
	got, err := good.Get(t.Context(), p.url+"/app", 1<<30)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("the profile of the honest program is not that of its runs: %v", err)
	}
	t.Logf("%d uploads refused, started in %v", refused, time.Since(began))
	bounded(t, p, memory)
	return refused
}

// bounded checks that a process never had more than this much memory.
func bounded(t *testing.T, p *process, memory int64) {
	t.Helper()
	got := peakMemory(p.cmd.Process.Pid)
	t.Logf("%d MB at the peak", got>>20)
	if got == 0 || got > memory {
		t.Errorf("%d MB of %d MB of memory", got>>20, memory>>20)
	}
}
