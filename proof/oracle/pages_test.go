//go:build linux && amd64

package oracle

import (
	"encoding/json"
	"path/filepath"
	"testing"
)

// maxStray is how many pages a prediction may be wrong by, either way: that of
// the C library's start-up code, which has no probes, and some that only the
// unused ends of long functions reach.
const maxStray = 5

// TestPages records SQLite with probes, predicts which pages of builds without
// probes the same run touches, and holds that against the instructions that
// callgrind saw: in the linker's order, and in that of first execution.
func TestPages(t *testing.T) {
	t.Parallel()
	skipLong(t) // make test runs the script pages_measure
	mustHave(t, "valgrind")
	const phases = "1"
	profile := filepath.Join(t.TempDir(), "app.mip")
	compiled := []string{"-O1", "-ffunction-sections"}
	args := append(compiled[:2:2], "-w", "-I"+goModule(t, sqliteModule), filepath.Join("testdata", "sqlite.c"),
		assemblySQLite(t, "gcc", compiled), "-lm") // gcc's, which other tests have as well
	program := build(t, "count", "clang-22", args...)
	raws := t.TempDir()
	cmd := command(t, program, sqliteArgs(t, phases)...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	output(t, cmd)
	output(t, command(t, cairn, "merge", "-o", profile, program, raws))
	order := filepath.Join(t.TempDir(), "app.order")
	output(t, command(t, cairn, "order", "-p", profile, "-o", order))

	counts := map[string]int{}
	layouts := map[string][]string{
		"as it is": nil,
		"ordered":  {"-Wl,--symbol-ordering-file=" + order, "-Wl,--no-warn-symbol-ordering"},
	}
	for layout, flags := range layouts {
		plain := build(t, "", "clang-22", append(append(flags, "-fuse-ld=lld"), args...)...)
		predicted, from, to := predictedPages(t, plain, profile)
		real := realPages(t, plain, from, to, sqliteArgs(t, phases)...)
		missed, extra := less(real, predicted), less(predicted, real)
		t.Logf("%s: %d pages predicted, %d touched; %d missed, %d too many", layout, len(predicted), len(real), missed, extra)
		if missed > maxStray || extra > maxStray || max(len(predicted)-len(real), len(real)-len(predicted)) > 3 {
			t.Errorf("%s: %d pages predicted, %d touched; %d missed, %d too many", layout, len(predicted), len(real), missed, extra)
		}
		counts[layout] = len(real)
	}
	if 4*counts["ordered"] > 3*counts["as it is"] {
		t.Errorf("the order leaves %d pages of %d", counts["ordered"], counts["as it is"])
	}
}

// predictedPages returns the pages that cairn expects a run to touch, and where
// the text section begins and ends.
func predictedPages(t *testing.T, program, profile string) (pages map[uint64]bool, from, to uint64) {
	t.Helper()
	var out struct {
		After struct {
			Addr uint64 `json:"text_addr"`
			Size uint64 `json:"text_size"`
		}
		Scenarios []struct {
			After struct{ Touched []struct{ Addr uint64 } }
		}
	}
	text := output(t, command(t, cairn, "pages", program, "-p", profile, "--json"))
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatal(err)
	}
	if len(out.Scenarios) != 1 {
		t.Fatalf("%d scenarios, want 1", len(out.Scenarios))
	}
	pages = map[uint64]bool{}
	for _, p := range out.Scenarios[0].After.Touched {
		pages[p.Addr/4096] = true
	}
	return pages, out.After.Addr, out.After.Addr + out.After.Size
}

// realPages returns the pages between two addresses that hold an instruction
// which a program without probes executed.
func realPages(t *testing.T, program string, from, to uint64, args ...string) map[uint64]bool {
	t.Helper()
	out := filepath.Join(t.TempDir(), "callgrind.out")
	argv := underCallgrind(out, "--dump-instr=yes", program, args...)
	output(t, command(t, argv[0], argv[1:]...))
	pages := map[uint64]bool{}
	for addr := range executed(t, out, program).instr {
		if from <= addr && addr < to {
			pages[addr/4096] = true
		}
	}
	return pages
}

// less returns how many pages of a are not in b.
func less(a, b map[uint64]bool) int {
	n := 0
	for page := range a {
		if !b[page] {
			n++
		}
	}
	return n
}
