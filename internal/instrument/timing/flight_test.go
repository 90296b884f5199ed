package timing

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/golden"
	"github.com/cairnprof/cairn/internal/instrument/asmtest"
	"github.com/cairnprof/cairn/internal/instrument/isa"
	"github.com/cairnprof/cairn/internal/instrument/probe"
	"github.com/cairnprof/cairn/prof"
)

// TestFlightGolden rewrites what compilers made with the flight recorder's code,
// compares some of it, and has all assembled. Each entry records, and each exit is
// that of mode spike.
func TestFlightGolden(t *testing.T) {
	t.Parallel()
	asmtest.EachText(t, "../native/testdata/*.s", func(file string, src []byte) {
		rewrite := func(flight bool) ([]byte, probe.Result) {
			unit, err := isa.Parse(src, machine.X86_64)
			if err != nil {
				t.Fatal(err)
			}
			return Rewrite(unit, probe.Options{Mode: prof.ModeSpike, Timing: probe.Timing{Flight: flight}})
		}
		out, result := rewrite(true)
		plain, _ := rewrite(false)
		if why := asmtest.Lost(src, out); why != "" {
			t.Errorf("%s: %s", file, why)
		}
		if n := bytes.Count(out, []byte("\tcall\t"+flightSlow+"\n")); n != result.Functions {
			t.Errorf("%s: %d of %d functions record", file, n, result.Functions)
		}
		if got, want := bytes.Count(out, []byte("\tcall\t"+timedSlow+"\n")), bytes.Count(plain, []byte("\tcall\t"+timedSlow+"\n")); got != want {
			t.Errorf("%s: %d exits, without recording %d", file, got, want)
		}
		if base := filepath.Base(file); base == "gcc_odd.s" || base == "clang_switch.s" {
			golden.Compare(t, strings.TrimSuffix(file, ".s")+".flight.golden", out)
		}
		asmtest.Assemble(t, file, out, "as", "--64", "-W")
	})
}

// TestFlightRegisters finds the register that an entry may use, whatever holds
// something there.
func TestFlightRegisters(t *testing.T) {
	t.Parallel()
	for live, want := range map[regSet]string{
		0: "%rax", regRAX: "%r10", regR10: "%rax", regRAX | regR10: "%rax", regR11: "%rax", regRAX | regR11: "%r10",
	} {
		reg, code, restore := flightStamp(live, spillRAX)
		if reg != want {
			t.Errorf("%b: %s, want %s", live, reg, want)
		}
		if kept := strings.Contains(restore, "%rax"); kept != (live.has(regRAX) && want == "%rax") {
			t.Errorf("%b: %q restores", live, restore)
		}
		if kept := strings.HasPrefix(code, "\tmovq\t%rax, "+keepRAX); kept != (restore != "") {
			t.Errorf("%b: %q saves", live, code)
		}
	}
}
