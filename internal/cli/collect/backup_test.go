package collect

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/internal/fleet/client"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/verb"
)

// runBackup runs cairn collect backup in this process.
func runBackup(t *testing.T, url, dir string) error {
	t.Helper()
	return backup(t.Context(), &verb.Streams{Out: io.Discard, Err: io.Discard}, url, dir)
}

// TestBackup makes backups under load. A collector that starts from one has every upload that was acknowledged before
// the backup began, and if all are sent again, none twice.
func TestBackup(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), "--snapshot", "20ms")
	program := fleettest.NewProgram("app", "\x01\x02", 50)
	raws, first := map[string][]byte{}, program.Run(t, 1)
	for _, body := range [][]byte{program.MapFile(t), first, fleettest.SpikeLog(1, "app", program.BuildID, 0, 3)} {
		if err := send(p.url, body); err != nil {
			t.Fatal(err)
		}
	}
	raws["1"] = first
	var mu sync.Mutex
	var wg sync.WaitGroup
	stop := make(chan struct{})
	for sender := range 4 {
		wg.Go(func() {
			for n := uint64(2 + sender); ; n += 4 {
				select {
				case <-stop:
					return
				default:
				}
				data := program.Run(t, n)
				if err := send(p.url, data); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				raws[fmt.Sprint(n)] = data
				mu.Unlock()
			}
		})
	}
	for i := range 3 {
		mu.Lock()
		before := maps.Clone(raws)
		mu.Unlock()
		dir := filepath.Join(t.TempDir(), "copy")
		if err := runBackup(t, p.url, dir); err != nil {
			t.Fatal(err)
		}
		restored := start(t, dir)
		var files []bundle.File
		for _, data := range before {
			files = append(files, bundle.File{Data: data})
		}
		body, err := bundle.Append(nil, files)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.New("").Send(t.Context(), restored.url, body)
		if err != nil || answer.Known != len(files) {
			t.Fatalf("backup %d: %d of %d uploads are there: %v", i, answer.Known, len(files), err)
		}
		if text := restored.talk.String(); strings.Contains(text, "level=ERROR") || strings.Contains(text, "level=WARN") {
			t.Errorf("the restored collector complains: %s", text)
		}
		restored.end(syscall.SIGTERM)
		var out bytes.Buffer
		if err := verifyDir(&verb.Streams{Out: &out, Err: io.Discard}, dir); err != nil {
			t.Errorf("%v: %s", err, &out)
		}
	}
	close(stop)
	wg.Wait()
	dir := filepath.Join(t.TempDir(), "copy")
	if err := runBackup(t, p.url, dir); err != nil {
		t.Fatal(err)
	}
	restored := start(t, dir)
	for _, data := range raws {
		if err := send(restored.url, data); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(get(t, restored.url+"/app"), fleettest.Merged(t, []*fleettest.Program{program}, raws)) {
		t.Error("the restored profile is not that of all runs")
	}
	if err := runBackup(t, p.url, dir); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("into a directory that exists: %v", err)
	}
}

// TestBackupCut cuts a backup at each of many places, and changes a byte of it: there is an error and no directory.
func TestBackupCut(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir())
	program := fleettest.NewProgram("app", "\x01\x02", 5)
	if err := send(p.url, program.MapFile(t)); err != nil {
		t.Fatal(err)
	}
	response, err := http.Get(p.url + "/v1/backup")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	whole, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	const block = 512
	data := whole
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write(data) }))
	defer server.Close()
	parent := t.TempDir()
	for n := 0; n+4*block < len(whole); n += block / 2 { // the last blocks are padding, and zero
		data = whole[:n]
		if err := runBackup(t, server.URL, filepath.Join(parent, "copy")); err == nil {
			t.Fatalf("%d of %d bytes are a backup", n, len(whole))
		}
	}
	i := bytes.Index(whole, []byte(`"builds":[`))
	if i < 0 {
		t.Fatal("no page in the backup")
	}
	data = bytes.Clone(whole)
	data[i+3] ^= 1
	if err := runBackup(t, server.URL, filepath.Join(parent, "copy")); err == nil || !strings.Contains(err.Error(), "damaged") {
		t.Errorf("with a changed byte: %v", err)
	}
	if left, err := os.ReadDir(parent); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}
