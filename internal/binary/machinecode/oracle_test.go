package machinecode

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/pseudoprobe"
	"github.com/cairnprof/cairn/internal/binary/controlflow"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

const profgen = "llvm-profgen-22"

// build compiles calls.cc with these flags.
func build(t *testing.T, flags ...string) string {
	t.Helper()
	for _, tool := range []string{profgen, "clang++-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	program := filepath.Join(t.TempDir(), "calls")
	args := append([]string{"-O2", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", "-o", program, "testdata/calls.cc"}, flags...)
	if out, err := exec.Command("clang++-22", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func load(t *testing.T, program string) (*objfile.Program, *Set) {
	t.Helper()
	f, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := f.Program()
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewSet(p)
	if err != nil {
		t.Fatal(err)
	}
	return p, s
}

// TestDisassembly compares the instructions, their classes and the probes at them with what
// llvm-profgen prints of the same program.
func TestDisassembly(t *testing.T) {
	t.Parallel()
	for _, flags := range []string{
		"-g -fpseudo-probe-for-profiling",
		"-fpseudo-probe-for-profiling -no-pie",
		"-g -static -fpseudo-probe-for-profiling -funroll-loops",
		"-g",
	} {
		t.Run(flags, func(t *testing.T) {
			t.Parallel()
			program := build(t, strings.Fields(flags)...)
			if strings.Contains(flags, "-static") && testing.Short() {
				t.Skip("a large program")
			}
			p, s := load(t, program)
			got := describe(t, p, s)
			want := disassembly(t, program)
			if len(want) < 100 || !strings.Contains(flags, "-static") && len(p.Probes) > 0 && !strings.Contains(strings.Join(want, "\n"), "Probe") {
				t.Fatalf("llvm-profgen prints %d lines", len(want))
			}
			compareLines(t, got, want)
		})
	}
}

// compareLines compares sorted lines.
func compareLines(t *testing.T, got, want []string) {
	t.Helper()
	bad := 0
	for i, j := 0, 0; (i < len(got) || j < len(want)) && bad < 10; {
		switch {
		case j == len(want) || i < len(got) && got[i] < want[j]:
			t.Errorf("only here:         %s", got[i])
			i, bad = i+1, bad+1
		case i == len(got) || got[i] > want[j]:
			t.Errorf("only llvm-profgen: %s", want[j])
			j, bad = j+1, bad+1
		default:
			i, j = i+1, j+1
		}
	}
	t.Logf("%d lines compared", len(want))
}

// describe writes instructions and probes as disassembly does.
func describe(t *testing.T, p *objfile.Program, s *Set) []string {
	t.Helper()
	names, err := pseudoprobe.ReadDescriptions(p.Probed)
	if err != nil {
		t.Fatal(err)
	}
	table, err := pseudoprobe.Read(p.Probes, pseudoprobe.Options{Start: s.Binaries()[0].ProbeStart})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for r := firstRef; r < s.end(); r++ {
		addr := s.Address(r)
		if back := s.Binaries()[0].At(addr); back != r || s.Binary(r) != s.Binaries()[0] {
			t.Fatalf("instruction %d at %#x is %d", r, addr, back)
		}
		out = append(out, fmt.Sprintf("%x: %s", addr, [...]string{"", "call", "call", "ret", "jmp", "jmp", "jcc"}[s.Class(r)]))
		for n, i := range table.Between(addr, addr) {
			probe := &table.Probes[i]
			c := &table.Copies[probe.Copy]
			line := fmt.Sprintf("%x: Probe %d: FUNC: %s Index: %d ", addr, n, names.Name(c.GUID), probe.ID)
			if probe.Discriminator != 0 {
				line += fmt.Sprintf("Discriminator: %d ", probe.Discriminator)
			}
			line += fmt.Sprintf("Type: %s ", [...]string{"Block", "IndirectCall", "DirectCall"}[probe.Kind])
			for inlined := ""; ; {
				if !c.Inlined() {
					if inlined != "" {
						line += "Inlined:" + inlined
					}
					break
				}
				site := c.Site
				c = &table.Copies[c.Parent]
				inlined = fmt.Sprintf(" @ %s:%d", names.Name(c.GUID), site) + inlined
			}
			out = append(out, strings.TrimSpace(line))
		}
	}
	slices.Sort(out)
	return out
}

var (
	instruction = regexp.MustCompile(`^ +([0-9a-f]+):\t(.*)`)
	mnemonic    = regexp.MustCompile(`^(?:(?:rep|repz|repne|lock|notrack|bnd|data16|addr32|rex64|[cdefgs]s)\s+)*([a-z0-9]+)`)
)

// disassembly returns what llvm-profgen prints of a program: lines of addresses and
// classes, and of probes with the addresses that they stand before.
func disassembly(t *testing.T, program string) []string {
	t.Helper()
	cmd := exec.Command(profgen, "--binary="+program, "--show-disassembly-only", "--show-pseudo-probe", "--output="+os.DevNull)
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var out, probes []string
	locked := false
	for line := range bytes.Lines(text) {
		line := strings.TrimRight(string(line), "\n")
		if probe := strings.TrimSpace(line); strings.HasPrefix(probe, "[Probe]:") {
			probes = append(probes, strings.Join(strings.Fields(strings.TrimPrefix(probe, "[Probe]:")), " "))
			continue
		}
		m := instruction.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		for n, p := range probes {
			out = append(out, m[1]+": Probe "+strconv.Itoa(n)+": "+p)
		}
		probes = nil
		// It takes a lock prefix for an instruction of its own.
		if locked {
			locked = false
			continue
		}
		locked = m[2] == "lock"
		if m[2] != "<unknown>" {
			out = append(out, m[1]+": "+classByName(m[2]))
		}
	}
	slices.Sort(out)
	return out
}

func classByName(text string) string {
	m := mnemonic.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	switch name := m[1]; {
	case strings.HasPrefix(name, "call"):
		return "call"
	case strings.HasPrefix(name, "ret") || strings.HasPrefix(name, "iret"):
		return "ret"
	case strings.HasPrefix(name, "jmp"):
		return "jmp"
	case strings.HasPrefix(name, "j") || strings.HasPrefix(name, "loop") || name == "xbegin":
		return "jcc"
	}
	return ""
}

// TestLeavingJumps checks that all jumps that leave their range of code are found, and no
// others, and that code is divided where its ranges are.
func TestLeavingJumps(t *testing.T) {
	t.Parallel()
	_, s := load(t, build(t, "-g", "-fpseudo-probe-for-profiling"))
	b := s.Binaries()[0]
	var leaving, indirect []Ref
	for r := firstRef; r < s.end(); r++ {
		here := b.RangeAt(s.Address(r))
		switch s.Class(r) {
		case controlflow.Jump, controlflow.Conditional:
			if to, _ := s.Target(r); b.RangeAt(to) != here {
				leaving = append(leaving, r)
			}
		case controlflow.IndirectJump:
			indirect = append(indirect, r)
		}
		in, end := s.Extent(r)
		if in != here || end <= r || in != nil && end < s.end() && b.RangeAt(s.Address(end)) == in || in != nil && b.RangeAt(s.Address(end-1)) != in {
			t.Fatalf("%#x is in %v until %#x, want %v", s.Address(r), in, s.Address(end), here)
		}
	}
	if len(leaving) == 0 || !slices.Equal(leaving, s.LeavingJumps()) || !slices.Equal(indirect, s.IndirectJumps()) {
		t.Errorf("jumps %v, want %v; %v, want %v", s.LeavingJumps(), leaving, s.IndirectJumps(), indirect)
	}
}
