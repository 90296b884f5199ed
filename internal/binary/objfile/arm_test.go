package objfile

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// TestArm reads programs for Armv7, whose files have 32 bits: symbols as nm has them, less the
// bit that tells the Thumb state, and lines as addr2line.
func TestArm(t *testing.T) {
	t.Parallel()
	for _, line := range shorttest.Rows(
		1,
		"arm-linux-gnueabihf-g++ -O2", "arm-linux-gnueabihf-g++ -O2 -marm -static -gdwarf-4",
		"clang++-22 --target=armv7-linux-gnueabihf -O2",
	) {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			command := strings.Fields(line)
			for _, tool := range []string{command[0], "arm-linux-gnueabihf-g++", "arm-linux-gnueabihf-addr2line"} {
				needs(t, []string{tool})
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "app.cc"), []byte(crossSource), 0o644); err != nil {
				t.Fatal(err)
			}
			run(t, dir, command[0], append(command[1:], "-g", "-gz=none", "-Wl,--build-id", "-o", "app", "app.cc")...)
			bin := filepath.Join(dir, "app")
			f := open(t, bin)
			if f.Machine() != machine.Arm {
				t.Errorf("it is for %v", f.Machine())
			}
			if id, err := f.BuildID(); err != nil || len(id) != 20 {
				t.Errorf("build id %x, %v", id, err)
			}
			agreesWithNm(t, bin)
			lines, err := f.Lines()
			if err != nil {
				t.Fatal(err)
			}
			compared := 0
			for _, fn := range functionMap(t, bin).Funcs {
				if fn.Name != "main" && fn.Name != "_Z7throweri" && fn.Name != "_Z7catcheri" {
					continue
				}
				out, err := exec.Command("arm-linux-gnueabihf-addr2line", "-e", bin, fmt.Sprintf("%#x", fn.Addr())).Output()
				if err != nil {
					t.Fatal(err)
				}
				file, line, ok := lines.Lookup(fn.Addr())
				if got, want := fmt.Sprintf("%s:%d", file, line), strings.Fields(string(out))[0]; !ok || got != want {
					t.Errorf("%s: %s, addr2line has %s", fn.Name, got, want)
				}
				compared++
			}
			if compared != 3 {
				t.Errorf("%d functions compared", compared)
			}
		})
	}
}
