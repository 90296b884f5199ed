//go:build linux && amd64

package oracle

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMachOTraceReplaced gives the name of a log to another file while the program runs: that file keeps what is in it.
func TestMachOTraceReplaced(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "waits.c")
	text := `extern long read(int, void *, unsigned long), write(int, const void *, unsigned long);
__attribute__((noinline)) int leaf(int n) { __asm__ volatile(""); return n + 1; }
int main(void) {
  char c = (char)leaf(0);
  write(1, &c, 1);
  read(0, &c, 1);
  for (int i = 0; i < 100000; i++) leaf(i);
  return 0;
}
`
	if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	program := build(t, "trace", "clang-22", macOS.args(t, "-O1", source)...)
	dir := t.TempDir()
	cmd := macOS.load(t, nil, program)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+dir, "CAIRN_TRACE=file")
	var says bytes.Buffer
	cmd.Stderr = &says
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	name := mustGlob(t, filepath.Join(dir, "*.cairnlog"))[0]
	strange := bytes.Repeat([]byte("a letter\n"), 100000)
	if err := os.Rename(name, name+".before"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, strange, 0o644); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, says.String())
	}
	if got, err := os.ReadFile(name); err != nil || !bytes.Equal(got, strange) {
		t.Errorf("the file has changed: %v", err)
	}
	if !strings.HasPrefix(says.String(), "cairn: no calls are logged: another file has the name of the log ") || strings.Count(says.String(), "\n") != 1 {
		t.Errorf("says %q", says.String())
	}
}
