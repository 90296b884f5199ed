//go:build linux && amd64

package oracle

import (
	"debug/elf"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestCrossCost measures what modes cost on AArch64 and Armv7, on SQLite and on a small program, next to
// clang's own instrumentation: code, what is loaded, the stripped file, and the instructions of a run,
// which a plugin of the emulator counts. It logs the tables of docs/targets.md.
func TestCrossCost(t *testing.T) {
	skipLong(t)
	t.Parallel()
	plugin := filepath.Join(t.TempDir(), "insns.so")
	output(t, command(t, "gcc", "-O2", "-w", "-shared", "-fPIC", "-o", plugin, filepath.Join("testdata", "insns.c")))
	sqlite, lz4 := goModule(t, sqliteModule), filepath.Join(goModule(t, "github.com/cloudflare/golz4@v0.0.0-20240916140612-caecf3c00c06"), "src")
	for _, machine := range []struct {
		name      string
		processor emulator
		target    []string
	}{
		{"AArch64", aarch64, []string{"--target=aarch64-linux-gnu"}},
		{"Armv7", armv7, []string{"--target=armv7-linux-gnueabihf", "-mthumb"}},
	} {
		for _, program := range []struct {
			name  string
			files []string
			args  []string
		}{
			{"SQLite", slices.Concat(sqliteDefines, []string{"-I" + sqlite, filepath.Join("testdata", "sqlite.c"), filepath.Join(sqlite, "sqlite3-binding.c"), "-lm"}), []string{":memory:", filepath.Join("testdata", "sqlite.sql"), allPhases}},
			{"LZ4", []string{"-I" + lz4, filepath.Join("..", "bench", "c", "small.c"), filepath.Join(lz4, "lz4.c")}, nil},
		} {
			t.Run(machine.name+" "+program.name, func(t *testing.T) {
				t.Parallel()
				args := slices.Concat(machine.target, []string{"-O2", "-w", "-fuse-ld=lld"}, program.files)
				rows := machine.processor.costs(t, plugin, args, program.args)
				// In a small program the runtime counts, of which the stub of clang's has nothing. On AArch64 clang's
				// probe has an instruction less, as its records are in the file and hold ones.
				if cover, entries := rows["cover"], rows["entries"]; program.name == "SQLite" && (cover[1] > entries[1] || cover[3] > entries[3]+entries[3]/50) {
					t.Errorf("cover costs %v, clang's coverage of entries %v", cover, entries)
				}
			})
		}
	}
}

// crossRows are what is compared: modes of cairn, and options of clang.
var crossRows = []struct{ name, mode, options string }{
	{"plain", "", ""},
	{"cover", "cover", ""},
	{"count", "count", ""},
	{"order", "order", ""},
	{"block", "block", ""},
	{"full", "full", ""},
	{"edge", "edge", ""},
	{"entries", "", "-fprofile-generate -mllvm -pgo-function-entry-coverage"},
	{"edges", "", "-fprofile-generate"},
	{"temporal", "", "-fprofile-generate -mllvm -pgo-temporal-instrumentation"},
}

// costs logs and returns a row for each build: code, loaded bytes, bytes of the stripped file and instructions.
func (e emulator) costs(t *testing.T, plugin string, args, run []string) map[string][4]uint64 {
	rows := map[string][4]uint64{}
	for _, row := range crossRows {
		if row.mode == "edge" && slices.Contains(args, "--target=armv7-linux-gnueabihf") {
			continue // it is not for Armv7
		}
		words := args
		if row.options != "" {
			words = generated(t, args, strings.Fields(row.options))
		}
		program := build(t, row.mode, "clang-22", words...)
		var cost [4]uint64
		cost[0], cost[1] = loaded(t, program)
		cost[3] = e.instructions(t, plugin, program, run...)
		stripped := program + ".stripped"
		output(t, command(t, "llvm-strip-22", "-o", stripped, program))
		info, err := os.Stat(stripped)
		if err != nil {
			t.Fatal(err)
		}
		cost[2] = uint64(info.Size())
		rows[row.name] = cost
		more := func(i int) float64 { return 100 * (float64(cost[i])/float64(rows["plain"][i]) - 1) }
		t.Logf("| %s | %d | %+.1f %% | %+.1f %% | %+.1f %% | %+.1f %% | %d relocations", row.name, cost[0], more(0), more(1), more(2), more(3), relocations(t, program))
	}
	return rows
}

// generated compiles the sources among arguments with options of clang's instrumentation, and returns the arguments
// of the link, with a stub of the runtime. Values of operands, which need all of that, are not recorded.
func generated(t *testing.T, args, options []string) []string {
	t.Helper()
	var flags, objects []string
	for _, a := range args {
		if !strings.HasSuffix(a, ".c") {
			flags = append(flags, a)
		}
	}
	for _, a := range args {
		if strings.HasSuffix(a, ".c") {
			object := filepath.Join(t.TempDir(), "a.o")
			output(t, command(t, "clang-22", slices.Concat(flags, options, []string{"-mllvm", "-disable-vp", "-c", a, "-o", object})...))
			objects = append(objects, object)
		}
	}
	return slices.Concat(objects, flags, []string{filepath.Join("testdata", "profilestub.c")})
}

// instructions runs a program and returns how many instructions that took.
func (e emulator) instructions(t *testing.T, plugin, program string, args ...string) uint64 {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "count")
	mustHave(t, e.command)
	cmd := command(t, e.command, append([]string{"-L", e.sysroot, "-plugin", plugin + ",out=" + out, program}, args...)...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir)
	input, err := os.Open(filepath.Join("testdata", "sqlite.sql"))
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	cmd.Stdin = input
	output(t, cmd)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil || n == 0 {
		t.Fatalf("%s: %q (%v)", e.command, text, err)
	}
	return n
}

// relocations returns how many the loader applies.
func relocations(t *testing.T, program string) int {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && (s.Type == elf.SHT_REL || s.Type == elf.SHT_RELA) {
			n += int(s.Size / s.Entsize)
		}
	}
	return n
}
