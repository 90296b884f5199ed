//go:build linux && amd64

package oracle

import (
	"bufio"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestLTOCost measures programs that are linked of bitcode: their code, what of their files
// is loaded, and the instructions that a run executes, next to clang's own instrumentation
// in the same link. It logs the table of docs/lto.md.
func TestLTOCost(t *testing.T) {
	t.Parallel()
	skipLong(t)
	mustHave(t, "ld.lld-22")
	mustHave(t, "valgrind")
	for i := range ltoGuests {
		g := &ltoGuests[i]
		t.Run(g.Name, func(t *testing.T) {
			_, _, sources := fetchGuest(t, &g.Guest)
			for _, kind := range ltoKinds {
				t.Run(kind, func(t *testing.T) { g.measure(t, sources, kind) })
			}
		})
	}
}

// ltoCost is what a program costs.
type ltoCost struct{ code, loaded, instructions uint64 }

func (g *ltoGuest) measure(t *testing.T, sources, kind string) {
	const peer = "-fprofile-generate"
	args := g.filled(t, sources, g.args)
	link := []string{"-O2", kind, "-fuse-ld=lld", "-lm"}
	plain := append(link, g.compile(t, sources, kind)...)
	generate := append(append(link, peer), g.compile(t, sources, kind, peer)...)
	costs := map[string]ltoCost{}
	for _, row := range []struct {
		name, mode string
		link       []string
	}{{"plain", "", plain}, {"cover", "cover", plain}, {"block", "block", plain}, {"full", "full", plain}, {peer, "", generate}} {
		program := build(t, row.mode, g.compiler, row.link...)
		c := ltoCost{instructions: instructions(t, program, args...)}
		c.code, c.loaded = loaded(t, program)
		costs[row.name] = c
		base := costs["plain"]
		more := func(a, b uint64) float64 { return 100 * (float64(a)/float64(b) - 1) }
		t.Logf("| %s `%s` | %s | %d | %+.1f %% | %+.1f %% | %+.1f %% |", g.Name, kind, row.name, c.code,
			more(c.code, base.code), more(c.loaded, base.loaded), more(c.instructions, base.instructions))
	}
	cover, generated := costs["cover"], costs[peer]
	if cover.loaded > generated.loaded || cover.instructions > generated.instructions {
		t.Errorf("mode cover costs %+v, %s %+v", cover, peer, generated)
	}
}

// loaded returns the sizes of the code in a program and of what is loaded from its file.
func loaded(t *testing.T, program string) (code, all uint64) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_EXECINSTR != 0 {
			code += s.Size
		}
	}
	for _, p := range f.Progs {
		if p.Type == elf.PT_LOAD {
			all += p.Filesz
		}
	}
	return code, all
}

// instructions runs a program on valgrind's processor and returns how many it executed.
func instructions(t *testing.T, program string, args ...string) uint64 {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "callgrind.out")
	argv := underCallgrind(out, "--dump-instr=no", program, args...)
	cmd := command(t, argv[0], argv[1:]...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir, "LLVM_PROFILE_FILE="+filepath.Join(dir, "raw.profraw"))
	output(t, cmd)
	f, err := os.Open(out)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		for _, head := range []string{"summary:", "totals:"} {
			if text, ok := strings.CutPrefix(lines.Text(), head); ok {
				n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
				if err != nil {
					t.Fatal(fmt.Errorf("%s: %w", out, err))
				}
				return n
			}
		}
	}
	t.Fatalf("%s has no sum", out)
	return 0
}
