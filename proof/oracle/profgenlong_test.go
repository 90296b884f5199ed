//go:build linux && amd64

package oracle

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

const sampledCalls = `static volatile long sum;
__attribute__((noinline)) static long add(long x) { for (int i = 0; i < 4; i++) sum += x; return sum; }
__attribute__((noinline)) static long twice(long x) { return add(x) + add(x + 1); }
int main(void) { for (int i = 0; i < 4000; i++) twice(i); return 0; }
`

// TestSamplesLong checks that memory does not grow with the length of the input of a pipe.
func TestSamplesLong(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "calls.c")
	if err := os.WriteFile(source, []byte(sampledCalls), 0o644); err != nil {
		t.Fatal(err)
	}
	program := build(t, "", "gcc", "-O1", "-fno-omit-frame-pointer", "-mno-omit-leaf-frame-pointer", source)
	text, err := os.ReadFile(sample(t, "31", program).samples)
	if err != nil {
		t.Fatal(err)
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	folded := []string{"profgen", "--binary", program, "--format", "folded", "-"}
	for name, c := range map[string]struct {
		input []byte
		argv  []string
	}{
		"samples":         {text, []string{"samples", "-"}},
		"profgen":         {text, folded},
		"profgen of gzip": {packed.Bytes(), folded},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const short, long = 16 << 20, 192 << 20 // of text
			once, often := peakOf(t, c.input, short/len(text), c.argv...), peakOf(t, c.input, long/len(text), c.argv...)
			t.Logf("%d MB of %d MB, %d MB of %d MB", once>>10, short>>20, often>>10, long>>20)
			const more = 64 << 10
			if often > once+more {
				t.Errorf("%d kB of memory, and %d kB for 12 times as much", once, often)
			}
		})
	}
}

var peakMemory = regexp.MustCompile(`VmHWM:\s+(\d+) kB`)

// peakOf gives an input so many times over to cairn, and returns its peak memory in kB.
func peakOf(t *testing.T, input []byte, times int, argv ...string) int {
	t.Helper()
	cmd := command(t, cairn, argv...)
	cmd.Env = append(cmd.Env, "GOMAXPROCS=2") // of which buffers depend
	var said bytes.Buffer
	cmd.Stderr = &said
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range times {
		if _, err := in.Write(input); err != nil {
			t.Fatalf("%v: %s", err, said.String())
		}
	}
	// It waits for more: what it takes to write the result is the same for both.
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, said.String())
	}
	m := peakMemory.FindSubmatch(status)
	if m == nil {
		t.Skip("the kernel does not tell the peak of memory")
	}
	kb, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return kb
}
