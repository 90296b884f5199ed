package gobuild_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestTimedRows builds the planted program in the timed modes for the race detector, for arm64,
// for macOS and by the older release of Go, runs it, and looks for its calls in the log.
func TestTimedRows(t *testing.T) {
	for _, row := range []struct {
		name  string
		env   []string
		flags []string
		run   func(t *testing.T) []string // the words that run it, if the processor does not
	}{
		{"race", []string{"CGO_ENABLED=1"}, []string{"-race"}, nil},
		{"arm64", []string{"CGO_ENABLED=0", "GOARCH=arm64"}, nil, emulator},
		{"go1.25", []string{"CGO_ENABLED=0", "GOTOOLCHAIN=go1.25.5"}, nil, nil},
		{"darwin", []string{"CGO_ENABLED=0", "GOOS=darwin"}, nil, func(t *testing.T) []string { return loader(t, "amd64") }},
		{"darwin/go1.25", []string{"CGO_ENABLED=0", "GOOS=darwin", "GOTOOLCHAIN=go1.25.5"}, nil, func(t *testing.T) []string { return loader(t, "amd64") }},
		{"darwin/arm64", []string{"CGO_ENABLED=0", "GOOS=darwin", "GOARCH=arm64"}, nil, func(t *testing.T) []string { return loader(t, "arm64") }},
	} {
		for _, mode := range []string{"spike", "stacks", "trace"} {
			t.Run(row.name+"/"+mode, func(t *testing.T) {
				words := []string{"./app"}
				if row.run != nil {
					words = append(row.run(t), words...)
				}
				cairn, dir := plantedBy(t, mode, row.env, row.flags)
				raws := t.TempDir()
				env := append([]string{"CAIRN_DIR=" + raws, "CAIRN_TRACE=file", "CAIRN_SPIKE=threshold=20ms"}, row.env...)
				out := do(t, dir, "", env, words[0], words[1:]...)
				calls := strings.Count(out, "\n")
				if calls != 96 || strings.Contains(out, "DATA RACE") {
					t.Fatalf("%d calls:\n%.2000s", calls, out)
				}
				checkRow(t, cairn, mode, raws, filepath.Join(dir, "app"))
			})
		}
	}
}

// emulator is what runs programs for arm64.
func emulator(t *testing.T) []string {
	t.Helper()
	path, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		t.Skip(err)
	}
	return []string{path}
}

// checkRow looks for the 96 planted calls in a log.
func checkRow(t *testing.T, cairn, mode, raws, app string) {
	t.Helper()
	if mode == "spike" {
		found := 0
		dec := json.NewDecoder(strings.NewReader(do(t, raws, "", nil, cairn, "spikes", "--jsonl", "--debug", app, raws)))
		for dec.More() {
			var s spike
			if err := dec.Decode(&s); err != nil {
				t.Fatal(err)
			}
			if s.Peak.Function == "main.planted" {
				found++
			}
		}
		if found < 10 {
			t.Errorf("%d spikes", found)
		}
		return
	}
	out := do(t, raws, "", nil, cairn, "convert", "--format", "folded", "--by", "calls", "-m", app, raws)
	if !regexp.MustCompile(`(?m)main\.planted 24$`).MatchString(out) && !regexp.MustCompile(`(?m)main\.planted 96$`).MatchString(out) {
		t.Errorf("no 96 calls:\n%s", out)
	}
	if out = do(t, raws, "", nil, cairn, "stacks", "-m", app, raws); !regexp.MustCompile(`main\.planted +\S+main\.go:\d+`).MatchString(out) {
		t.Errorf("no lines:\n%s", out)
	}
}

// plantedBy builds testdata/planted.go.txt in a mode, with flags of go build and of cairn go.
func plantedBy(t *testing.T, mode string, env, build []string, flags ...string) (cairn, dir string) {
	t.Helper()
	cairn, src := needsGo(t)
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), src, 0o666); err != nil {
		t.Fatal(err)
	}
	args := slices.Concat([]string{"go", "--mode", mode}, flags, []string{"build"}, build, []string{"-o", "app", "main.go"})
	do(t, dir, "", env, cairn, args...)
	return cairn, dir
}

// needsGo skips a test that builds programs where it cannot, and returns the path of cairn
// and the source of the planted program.
func needsGo(t *testing.T) (cairn string, src []byte) {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles package runtime")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip(err)
	}
	cairn, err := cairnProgram()
	if err != nil {
		t.Fatal(err)
	}
	if src, err = os.ReadFile("testdata/planted.go.txt"); err != nil {
		t.Fatal(err)
	}
	return cairn, src
}
