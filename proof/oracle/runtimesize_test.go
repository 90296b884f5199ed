//go:build linux && amd64

package oracle

import (
	"debug/elf"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// sizeTable is the head of the table of docs/costs.md with the bytes that the runtime adds.
const sizeTable = "| mode | x86-64 | AArch64 | Armv7 |"

// TestRuntimeSizes holds docs/costs.md to the bytes of code and constants that the runtime adds to a program and to a
// library of two functions. A row that is 1 % too low fails, so the runtime does not grow unseen; one that is 3 % too high
// fails too.
func TestRuntimeSizes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "costs.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), sizeTable+"\n")
	if !ok {
		t.Fatalf("docs/costs.md has no table %q", sizeTable)
	}
	source := filepath.Join(t.TempDir(), "two.c")
	if err := os.WriteFile(source, []byte("int g(int x) { return x + 1; }\nint main(int argc, char **argv) { return g(argc) - 2; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	compilers := []string{"gcc", "aarch64-linux-gnu-gcc", "arm-linux-gnueabihf-gcc"}
	rows := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 {
			break
		}
		if strings.Contains(cells[0], "---") {
			continue
		}
		rows++
		name := strings.TrimSpace(cells[0])
		for i, compiler := range compilers {
			text := strings.ReplaceAll(strings.TrimSpace(cells[1+i]), ",", "")
			if text == "" || testing.Short() && i > 0 && !strings.HasPrefix(name, "cover") {
				continue
			}
			want, err := strconv.Atoi(text)
			if err != nil {
				t.Errorf("%s: %q is no number", name, text)
				continue
			}
			t.Run(name+" "+compiler, func(t *testing.T) {
				t.Parallel()
				mode, library, _ := strings.Cut(name, ", ")
				args := []string{"-O2", source}
				switch library {
				case "library":
					args = append(args, "-shared", "-fPIC")
				case "shared":
					dir := t.TempDir() + "/" // the path of the file is in the program: it has one length
					mode += " --shared-runtime " + dir + strings.Repeat("r", max(1, 100-len(dir)))
				}
				got := constantBytes(t, build(t, mode, compiler, args...)) - constantBytes(t, build(t, "", compiler, args...))
				t.Logf("%d bytes", got)
				if got > want+want/100 || got < want-want*3/100 {
					t.Errorf("docs/costs.md says %d bytes", want)
				}
			})
		}
	}
	if rows < 11 {
		t.Errorf("%d rows in the table", rows)
	}
}

// constantBytes returns how many bytes of code and constants a program has: what it loads and cannot write.
func constantBytes(t *testing.T, program string) (sum int) {
	t.Helper()
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, s := range f.Sections {
		if s.Flags&elf.SHF_ALLOC != 0 && s.Flags&elf.SHF_WRITE == 0 && s.Type != elf.SHT_NOBITS {
			sum += int(s.Size)
		}
	}
	return sum
}
