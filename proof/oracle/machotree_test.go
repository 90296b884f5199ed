//go:build linux && amd64

package oracle

import (
	"bufio"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// secondIn returns the calls of second in the logs of a directory, which are so many, and those of it below a function.
func secondIn(t *testing.T, logs, below string, files int) (all, own uint64) {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(logs, "*.cairnlog"))
	if err != nil || len(found) != files {
		t.Fatalf("logs %q (%v), want %d", found, err, files)
	}
	if files == 0 {
		return 0, 0
	}
	for stack, n := range foldedLogs(t, logs) {
		if strings.HasSuffix(";"+stack, ";second") {
			all += n
			if strings.Contains(stack, below) {
				own += n
			}
		}
	}
	return all, own
}

// TestMachOStacksLife ends programs of mode stacks in all ways: what was called is in the log.
func TestMachOStacksLife(t *testing.T) {
	t.Parallel()
	for _, system := range []apple{macOS, iOS} {
		t.Run(system.target, func(t *testing.T) {
			t.Parallel()
			program := build(t, "stacks", "clang-22", system.args(t, "-O1 -fno-inline-functions", filepath.Join("testdata", "macho", "ends.c"))...)
			for _, c := range []struct {
				end, settings string
				logs          int
				second, own   uint64
			}{
				{"exit", "", 1, 8, 0},
				{"leave", "", 1, 8, 0},
				{"replace", "", 1, 8, 0},
				{"threads", "", 1, 308, 300},
				{"child", "", 2, 9, 1},
				{"exec", "", 1, 8, 0},
				{"exit", "off", 0, 0, 0},
			} {
				if (c.end == "child" || c.end == "exec") && system.emulator != nil {
					continue // the emulator cannot start threads in a child
				}
				logs := t.TempDir()
				cmd := system.load(t, system.emulator, program, c.end)
				cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs, "CAIRN_SPIKE="+c.settings)
				output(t, cmd)
				if all, own := secondIn(t, logs, "in_", c.logs); all != c.second || own != c.own {
					t.Errorf("%s %s: %d calls of second, %d of them below another, want %d and %d", c.end, c.settings, all, own, c.second, c.own)
				}
			}
			stacksKilled(t, system, program)
		})
	}
}

// stacksKilled kills a program after the thread of its clock has seen what it did.
func stacksKilled(t *testing.T, system apple, program string) {
	logs := t.TempDir()
	cmd := system.load(t, system.emulator, program, "wait")
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+logs)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "waits\n" {
		t.Fatalf("%q, %v", line, err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		files, _ := filepath.Glob(filepath.Join(logs, "*.cairnlog"))
		if len(files) == 1 {
			if text, err := exec.Command(cairn, "stacks", "--folded", "--by", "calls", files[0]).Output(); err == nil && strings.Contains(string(text), "second 8\n") {
				break
			}
		}
		if time.Now().After(end) {
			t.Fatal("the log has not what was called")
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	if all, _ := secondIn(t, logs, "none", 1); all != 8 {
		t.Errorf("killed: %d calls of second, want 8", all)
	}
}

// TestMachOStacksRoom runs a program that has not the addresses for a window: as it is without cairn.
func TestMachOStacksRoom(t *testing.T) {
	t.Parallel()
	mustHave(t, "prlimit")
	source := filepath.Join("testdata", "macho", "frames.cc")
	args := macOS.linuxArgs(t, "-O2", source)
	want := output(t, macOS.load(t, nil, build(t, "", "clang++-22", args...)))
	logs := t.TempDir()
	cmd := macOS.load(t, []string{"prlimit", "--as=3000000000"}, build(t, "stacks", "clang++-22", args...))
	var said strings.Builder
	cmd.Env, cmd.Stderr = append(cmd.Env, "CAIRN_DIR="+logs), &said
	answer, err := cmd.Output()
	if err != nil || string(answer) != want || !strings.HasPrefix(said.String(), "cairn: no calls are logged: no room for a window of 4 GiB of addresses") || strings.Count(said.String(), "\n") != 1 {
		t.Errorf("%v, %q, want %q; says %s", err, answer, want, said.String())
	}
	secondIn(t, logs, "", 0)
}
