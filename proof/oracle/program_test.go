//go:build linux && amd64

package oracle

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/shorttest"
	"github.com/cairnprof/cairn/prof"
)

// runLimit bounds a compiler or a program: it hangs if it takes longer, on a machine
// that has much else to do as well.
const runLimit = 30 * time.Minute

// mustHave skips a test whose tool is missing, except in CI, which has all.
func mustHave(t *testing.T, tool string) {
	t.Helper()
	if _, err := exec.LookPath(tool); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("CI lacks %s: %v", tool, err)
		}
		t.Skipf("%s is not installed; make test installs it", tool)
	}
}

// skipLong skips a test that make long runs, and make test only a sample of.
func skipLong(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("it takes long; make long runs it")
	}
}

// command is a process that ends with the test and sees none of the
// environment that would change what cairn does.
func command(t *testing.T, name string, args ...string) *exec.Cmd {
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "CAIRN_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "CAIRN_CACHE="+shorttest.Cache(filepath.Join(workDir, "cache")))
	cmd.WaitDelay = time.Minute
	return cmd
}

// output runs cmd and returns what it writes to standard output.
func output(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, stderr.String())
	}
	return stdout.String()
}

// build compiles and links a program into the test's directory. Without a mode
// cairn has no part in it.
func build(t *testing.T, mode, compiler string, args ...string) string {
	t.Helper()
	mustHave(t, compiler)
	program := filepath.Join(t.TempDir(), "program")
	argv := append([]string{compiler}, args...)
	if mode != "" {
		argv = append([]string{cairn, "cc", "--strict", "--mode"}, append(strings.Fields(mode), argv...)...)
	}
	output(t, command(t, argv[0], append(argv[1:], "-o", program)...))
	// callgrind names objects by their real path.
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// compiled holds what a compiler printed when it made each assembly file.
var compiled shorttest.Memo[[]byte]

// assembly returns the assembly file that a compiler makes of a source. What takes a compiler seconds is done once:
// cairn's part of a build begins there. Of gcc it is as the timed modes want it.
func assembly(t *testing.T, compiler, source string, flags ...string) string {
	t.Helper()
	mustHave(t, compiler)
	if strings.HasPrefix(compiler, "clang") {
		flags = append(slices.Clone(flags), "-fno-integrated-as")
	} else {
		flags = append(slices.Clone(flags), "-dp", "-fno-ipa-ra")
	}
	sum := sha256.Sum256([]byte(strings.Join(append(flags, compiler, source), "\x00")))
	file := filepath.Join(workDir, hex.EncodeToString(sum[:8])+".s")
	out, err := compiled.Get(file, func() ([]byte, error) {
		return exec.Command(compiler, append(flags, "-S", source, "-o", file)...).CombinedOutput()
	})
	if err != nil {
		t.Fatalf("%s of %s: %v\n%s", compiler, source, err, out)
	}
	return file
}

// fromAssembly returns arguments of gcc with the assembly file in place of each source in C++ if -short is given:
// what is built of them in several modes is compiled once. clang's driver assembles such files itself.
func fromAssembly(t *testing.T, compiler string, args []string) []string {
	t.Helper()
	if !testing.Short() || strings.HasPrefix(compiler, "clang") {
		return args
	}
	isSource := func(arg string) bool { return strings.HasSuffix(arg, ".cc") }
	flags := slices.DeleteFunc(slices.Clone(args), isSource)
	args = slices.Clone(args)
	for i, arg := range args {
		if isSource(arg) {
			args[i] = assembly(t, compiler, arg, flags...)
		}
	}
	return args
}

// profile reads what one process left in the directory of raw files.
func profile(t *testing.T, program, raws string) *prof.Module {
	t.Helper()
	file := filepath.Join(t.TempDir(), "run.mip")
	output(t, command(t, cairn, "merge", "--strict", "-o", file, program, raws))
	m := readProfile(t, file)
	if m.Raws != 1 {
		t.Fatalf("%d raw files, want that of one process", m.Raws)
	}
	return m
}

// emptyProfile reads the map of a program.
func emptyProfile(t *testing.T, program string) *prof.Module {
	t.Helper()
	file := filepath.Join(t.TempDir(), "empty.mip")
	output(t, command(t, cairn, "create", "-p", file, program))
	return readProfile(t, file)
}

func readProfile(t *testing.T, file string) *prof.Module {
	t.Helper()
	modules := readModules(t, file)
	if len(modules) != 1 || len(modules[0].Funcs) == 0 {
		t.Fatalf("%s: %d modules, want 1 with functions", file, len(modules))
	}
	return &modules[0]
}

func readModules(t *testing.T, file string) []prof.Module {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p, err := mip.ReadProfile(data)
	if err != nil {
		t.Fatal(err)
	}
	return p.Modules
}

// run runs a program and returns its answer, which is all it writes to
// standard output, and the profile.
func run(t *testing.T, program string, args ...string) (string, *prof.Module) {
	t.Helper()
	raws := t.TempDir()
	cmd := command(t, program, args...)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
	answer := output(t, cmd)
	return answer, profile(t, program, raws)
}

// answerOf runs a program without probes.
func answerOf(t *testing.T, program string, args ...string) string {
	t.Helper()
	answer := output(t, command(t, program, args...))
	if answer == "" {
		t.Fatal(errors.New("the program has no answer to compare"))
	}
	return answer
}
