//go:build linux && amd64

package oracle

import (
	"debug/elf"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// toldOf runs a scenario of marks.c and returns what was reported: the peak, the
// callers that took too long as well, and what the program said.
func toldOf(t *testing.T, program string, scenario ...string) string {
	t.Helper()
	return toldBy(t, elfSymbols(t, program), program, scenario...)
}

// toldBy does so for a command that runs it.
func toldBy(t *testing.T, symbols []elf.Symbol, command string, args ...string) string {
	t.Helper()
	_, logs := spikeLogs(t, "", command, args...)
	if len(logs) != 1 {
		t.Fatalf("%d logs", len(logs))
	}
	var words []string
	bias := biasOf(logs[0])
	for _, e := range episodes(t, logs[0]) {
		sections := map[uint32]string{}
		for _, text := range e.Texts {
			if text.Kind == tracelog.Section {
				sections[text.SP] = text.Text
			}
		}
		name := func(pc uint64, sp uint32) string {
			if sections[sp] != "" {
				return sections[sp]
			}
			for _, s := range symbols {
				if at := pc - 1 - bias; elf.ST_TYPE(s.Info) == elf.STT_FUNC && at >= s.Value && at < s.Value+s.Size {
					return s.Name
				}
			}
			return "?"
		}
		words = append(words, name(e.Stack[0].PC, e.Stack[0].SP))
		for _, p := range e.Parents {
			if p.Flags&tracelog.Ignored == 0 {
				words = append(words, "^"+name(p.PC, p.SP))
			}
		}
		for _, text := range e.Texts {
			if text.Kind != tracelog.Section {
				words = append(words, "\""+text.Text+"\"")
			}
		}
	}
	return strings.Join(words, " ")
}

// biasOf returns how far the program of a log is from the addresses in its file.
func biasOf(l *tracelog.Log) uint64 {
	for i := range l.Modules {
		if l.Modules[i].Main {
			return l.Modules[i].Bias
		}
	}
	return 0
}

// TestMarks runs a marked program whose functions are timed as well, and one in
// which only marks are: marks refine the one, and do on their own in the other.
func TestMarks(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"spike --small 0", "spike --only ^$"} {
		for _, compiler := range shorttest.Rows(1, "clang-22", "gcc") {
			program := build(t, mode, compiler, "-O2", "-g", timedSources+"marks.c")
			t.Run(compiler+" "+mode, func(t *testing.T) {
				checkMarks(t, mode, func(scenario ...string) string { return toldOf(t, program, scenario...) })
			})
		}
	}
}

// checkMarks compares what is told of the scenarios of marks.c in a mode with what they do.
func checkMarks(t *testing.T, mode string, told func(scenario ...string) string) {
	t.Helper()
	// frames and messages end in tail calls.
	leaf := `"leaf  12.5% of 30, 7 x (nil)"`
	tests := []struct{ scenario, automatic, manual string }{
		{"nested", "nap ^leaf ^middle ^outer ^main " + leaf, "leaf ^middle ^outer " + leaf},
		{"section", "nap ^load ^section ^main", "load ^section"},
		{"own", "nap ^leaf ^middle ^main " + leaf, "leaf ^middle " + leaf},
		{"children", "children ^main", "children"},
		{"parents", "nap ^load", "load"},
		{"ignore", "nap ^leaf ^middle ^main " + leaf, "leaf ^middle " + leaf},
		{"ignore_children", "ignore_children ^main", "ignore_children"},
		{"pause", "", ""},
		{"inactive", "", ""},
		{"channel", "nap ^on nap ^channel ^main", "on"},
		{"frames", "nap ^leaf ^main " + leaf, "leaf " + leaf},
		{"messages", `nap ^overtime ^main "waited 30" "n 30"`, `overtime "waited 30" "n 30"`},
		{"jumps", "nap ^leaf ^jumps ^main " + leaf, "leaf ^jumps " + leaf},
	}
	for _, test := range tests {
		want := test.automatic
		if strings.Contains(mode, "only") {
			want = test.manual
		}
		got := told(test.scenario)
		// A clock that is late misses calls, and says so. A host that
		// stalls makes other calls long: such are spikes indeed. Then all times are longer.
		for factor := 1; got != want && factor <= 64; factor *= 2 {
			t.Logf("%s: %s", test.scenario, got)
			got = told(test.scenario, strconv.Itoa(factor))
		}
		if got != want {
			t.Errorf("%s: %s, want %s", test.scenario, got, want)
		}
	}
}
