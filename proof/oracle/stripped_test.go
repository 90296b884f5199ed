package oracle

import (
	"bufio"
	"cmp"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// strippedBinaries are programs and libraries of distributions, of which strip left exported
// symbols. Those that are not installed are left out.
var strippedBinaries = []string{
	"perl", "python3", "bash", "git", "sqlite3", "gdb", "openssl", "ssh", "make", "vim", "ruby", "php", "curl", "tar", "awk",
	"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/libm.so.6", "/usr/lib/x86_64-linux-gnu/libstdc++.so.6",
	"/usr/lib/x86_64-linux-gnu/libcrypto.so.3", "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0", "/usr/lib/x86_64-linux-gnu/libz.so.1",
}

// TestStrippedNames compares the names of functions of stripped binaries with those of
// llvm-symbolizer, which takes the exported symbol before an address if that is in it, and of addr2line.
func TestStrippedNames(t *testing.T) {
	symbolizer := ""
	for _, name := range []string{"llvm-symbolizer-22", "llvm-symbolizer", "llvm-symbolizer-14"} {
		if p, err := exec.LookPath(name); err == nil {
			symbolizer = p
			break
		}
	}
	if symbolizer == "" {
		t.Skip("needs llvm-symbolizer")
	}
	most := len(strippedBinaries)
	if testing.Short() {
		most = 2
	}
	done := 0
	for _, name := range strippedBinaries {
		path := name
		if found, err := exec.LookPath(name); err == nil {
			path = found
		}
		path, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		f, err := objfile.Open(path)
		if err != nil {
			continue // a script
		}
		defer f.Close()
		if symbols, err := f.FuncSymbols(); err != nil || len(symbols) == 0 {
			continue
		}
		if done++; done > most {
			break
		}
		compareNames(t, symbolizer, path, f)
	}
	if done == 0 {
		t.Skip("none of the binaries is installed")
	}
}

// compareNames compares the names at random addresses of functions.
func compareNames(t *testing.T, symbolizer, path string, f *objfile.File) {
	t.Helper()
	left, err := f.RemainingSymbols()
	if err != nil {
		t.Fatal(err)
	}
	var functions []objfile.TableSymbol
	names := map[uint64][]string{} // all of an address
	for _, s := range left.Symbols {
		if s.Func && s.Size > 0 {
			functions = append(functions, s)
			names[s.Addr] = append(names[s.Addr], s.Name)
		}
	}
	random := rand.New(rand.NewPCG(39, uint64(len(functions))))
	var asked []objfile.TableSymbol
	var addrs []uint64
	for range 2000 {
		s := functions[random.IntN(len(functions))]
		asked = append(asked, s)
		addrs = append(addrs, s.Addr+random.Uint64N(s.Size))
	}
	var in strings.Builder
	for _, a := range addrs {
		fmt.Fprintf(&in, "%#x\n", a)
	}
	cmd := command(t, symbolizer, "--no-demangle", "--functions=linkage", "--no-inlines", "--debug-file-directory=/nonexistent", "--obj="+path)
	cmd.Stdin = strings.NewReader(in.String())
	text := output(t, cmd)
	lines := bufio.NewScanner(strings.NewReader(text))
	var got []string
	for lines.Scan() {
		name := lines.Text()
		lines.Scan() // the place
		lines.Scan() // a blank line
		got = append(got, name)
	}
	named, wrong := 0, 0
	for i, s := range asked {
		ours := innermost(functions, addrs[i])
		theirs := cmp.Or(got[i], "??")
		switch {
		case strings.Contains(ours.Name, "+0x"):
			if theirs != "??" {
				t.Logf("%s: %#x is unnamed, llvm-symbolizer: %s", path, addrs[i], theirs)
				wrong++
			}
		case !slices.Contains(names[ours.Addr], versionless(theirs)):
			t.Logf("%s: %#x is in %s %#x+%d, llvm-symbolizer: %s", path, addrs[i], ours.Name, s.Addr, s.Size, theirs)
			wrong++
		default:
			named++
		}
	}
	if wrong*1000 > len(addrs) {
		t.Errorf("%s: %d of %d names differ", path, wrong, len(addrs))
	}
	t.Logf("%s: %d exported, %d unnamed; of %d addresses %d have names", path, left.Named, left.Unnamed, len(addrs), named)
	if id, err := f.BuildID(); err == nil { // addr2line reads an installed debug file
		if debug, _ := filepath.Glob(objfile.DefaultDebugRoot + "/.build-id/" + id.String()[:2] + "/" + id.String()[2:] + ".debug"); len(debug) > 0 {
			return
		}
	}
	compareAddr2line(t, path, in.String(), func(i int, theirs string) bool {
		ours := innermost(functions, addrs[i])
		return strings.Contains(ours.Name, "+0x") || slices.Contains(names[ours.Addr], versionless(theirs))
	})
}

// compareAddr2line compares names with those of addr2line, which takes the exported symbol before an address: of functions
// that have none it says nothing. agrees reports whether it has the name at the i-th address.
func compareAddr2line(t *testing.T, path, addrs string, agrees func(i int, theirs string) bool) {
	t.Helper()
	if _, err := exec.LookPath("addr2line"); err != nil {
		return
	}
	cmd := command(t, "addr2line", "--functions", "--exe="+path)
	cmd.Stdin = strings.NewReader(addrs)
	lines := strings.Split(strings.TrimSpace(output(t, cmd)), "\n")
	wrong := 0
	for i := 0; i+1 < len(lines); i += 2 { // the place follows
		if !agrees(i/2, lines[i]) {
			t.Logf("%s: address %d, addr2line: %s", path, i/2, lines[i])
			wrong++
		}
	}
	if n := len(lines) / 2; wrong*1000 > n || n == 0 {
		t.Errorf("%s: addr2line has other names at %d of %d addresses", path, wrong, n)
	}
}

// versionless returns a name without the version that llvm-symbolizer may append.
func versionless(name string) string {
	name, _, _ = strings.Cut(name, "@")
	return name
}

// innermost returns the function with an address that begins last.
func innermost(functions []objfile.TableSymbol, addr uint64) objfile.TableSymbol {
	var best objfile.TableSymbol
	for _, s := range functions {
		if addr-s.Addr < s.Size && s.Addr >= best.Addr {
			best = s
		}
	}
	return best
}
