package toolchain

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/driver"
)

// TestForC checks that the runtime for the driver of C++ or Fortran is compiled by the C
// compiler that is installed with it.
func TestForC(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"arm-gcc-12", "arm-g++-12", "arm-gfortran-12", "g++-9", "gfortran", "clang", "ccache", "colorgcc", "wrapped-g++.sh"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"gcc": "arm-gcc-12", "g++": "arm-g++-12", "clang++": "clang", "clang-22": "clang", "clang++-22": "clang", "clang++-21": "clang", "cc": "ccache", "x-gcc": "colorgcc"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		family     driver.Family
		name, want string
	}{
		{driver.GCC, "gcc", "arm-gcc-12"},
		{driver.GCC, "g++", "arm-gcc-12"},
		{driver.GCC, "arm-gfortran-12", "arm-gcc-12"},
		{driver.GCC, "g++-9", "g++-9"}, // has no gcc-9
		{driver.GCC, "gfortran", "gfortran"},
		{driver.GCC, "cc", "cc"},
		{driver.GCC, "x-gcc", "x-gcc"},
		{driver.GCC, "wrapped-g++.sh", "wrapped-g++.sh"},
		{driver.Clang, "clang", "clang"},
		{driver.Clang, "clang++", "clang"},
		{driver.Clang, "clang++-22", "clang-22"},
		{driver.Clang, "clang++-21", "clang++-21"},
	} {
		path := filepath.Join(dir, test.name)
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			t.Fatal(err)
		}
		got := Compiler{Path: path, real: real, Family: test.family}.forC().Path
		if got != filepath.Join(dir, test.want) {
			t.Errorf("%s: %s, want %s", test.name, filepath.Base(got), test.want)
		}
	}
}
