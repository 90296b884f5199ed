package sampleprof

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What gcc's dumps say of a function, and of its count if a profile has it.
var (
	gccFunction = regexp.MustCompile(`^(\w+)/\d+ \(\w+\)`)
	gccCount    = regexp.MustCompile(`Function flags: count:(\d+) \(auto FDO\)`)
)

// TestGcov lets gcc read a profile, and finds the counts of its functions in what gcc says of them.
func TestGcov(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("needs gcc")
	}
	const source = `__attribute__((noinline)) int sum(int n, int (*f)(int)) {
  int s = 0;
  for (int i = 0; i < n; i++)
    s += f(i);
  return s;
}
static int once(int i) { return i & 3; }
int main(int argc, char **argv) { return sum(argc * 1000, once) & 1; }
`
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.c"), []byte(source), 0o644); err != nil {
		t.Fatal(err)
	}
	p := Profile{}
	f := p.Func("sum")
	f.Head = 4711
	f.At(Place{2, 1}).Count = 1000
	f.At(Place{2, 3}).Count = 90000
	call := f.At(Place{3, 0})
	call.Count = 90000
	call.Call("once", 80000)
	call.Call("other", 10000)
	p.Func("main").Head = 1234
	p.Func("main").Inline(Place{0, 2}, "sum").At(Place{1, 0}).Count = 7
	var b bytes.Buffer
	if err := fileOf(p).WriteGcov(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.afdo"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("gcc", "-O2", "-g", "-fauto-profile=a.afdo", "-fdump-ipa-inline=dump", "-c", "a.c")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	dump, err := os.ReadFile(filepath.Join(dir, "dump"))
	if err != nil {
		t.Fatal(err)
	}
	counts, name := map[string]string{}, ""
	for line := range strings.Lines(string(dump)) {
		if m := gccFunction.FindStringSubmatch(line); m != nil {
			name = m[1]
		}
		if m := gccCount.FindStringSubmatch(line); m != nil && counts[name] == "" {
			counts[name] = m[1]
		}
	}
	if counts["sum"] != "4711" || counts["main"] != "1234" {
		t.Errorf("gcc read the calls %v", counts)
	}
	// The line of the loop has its highest count, and the function that is called most is called directly.
	for _, want := range []string{"[count: 90000]", "once/3 inlined"} {
		if !strings.Contains(string(dump), want) {
			t.Errorf("no %q in what gcc made of the profile:\n%s", want, dump)
		}
	}
}

// TestGcovRefuses checks what gcc does not read.
func TestGcovRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		f    *File
		want string
	}{
		{fileOf(Profile{"f": {Probes: true}}), "pseudo probes"},
		{&File{HasContexts: true}, "contexts"},
		{&File{MD5: true}, "MD5"},
	} {
		if err := test.f.WriteGcov(&bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %s", err, test.want)
		}
	}
}
