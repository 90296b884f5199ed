package toolchain

import (
	"testing"

	"github.com/cairnprof/cairn/internal/instrument/driver"
)

func TestIsCheck(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		dir, args string
		want      bool
	}{
		{"/src", "-c conftest.c", true},
		{"/src", "-o conftest conftest.o", true},
		{"/src", "-o conftest.o -x c -", true},
		{"/src", "-o objs/autotest objs/autotest.c", true},
		{"/src", "-o ztest4711 ztest4711.c", true},
		{"/src/out/CMakeFiles/CMakeScratch/TryCompile-4xM", "-c /usr/share/cmake/Modules/CMakeCCompilerABI.c", true},
		{"/src/out/CMakeFiles/3.25.1/CompilerIdC", "CMakeCCompilerId.c", true},
		{"/src/out", "-o meson-private/sanitycheckc.exe /src/out/meson-private/sanitycheckc.c", true},
		{"/tmp/ffconf.x3", "-c test.c", true},
		{"/src", "-c main.c", false},
		{"/src/conftest", "-c main.c", false},
		{"/src/out", "-o CMakeFiles/app.dir/main.o -c /src/main.c", false},
		{"/src/meson", "-c private.c", false},
		{"/src", "-c autotest.c", false},
	} {
		cmd := driver.Parse(driver.GCC, driver.SplitResponse(tt.args), ReadResponse)
		if got := isCheckIn(tt.dir, &cmd); got != tt.want {
			t.Errorf("in %s, %s: %v, want %v", tt.dir, tt.args, got, tt.want)
		}
	}
}

// TestStandsInFor compares the command's names with those that the library in a build's
// programs catches (internal/instrument/catch TestNames).
func TestStandsInFor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"as", "x86_64-linux-gnu-as", "nasm", "yasm", "rustc", "rustc-1.63", "cargo", "ldc2", "ldc2-1.30", "dmd", "fpc", "gdc", "gdc-12",
		"gcc", "cc", "c++", "g++-12", "gcc-4.8", "clang-22", "clang++", "gfortran", "ld", "ld.lld-22", "ld.bfd", "mold",
		"x86_64-linux-gnu-gcc", "x86_64-linux-gnu-g++-12", "x86_64-pc-linux-gnu-gcc", "x86_64-linux-musl-gcc", "musl-gcc", "aarch64-linux-gnu-gcc", "aarch64-linux-android21-clang++", "aarch64-linux-gnu-ld", "x86_64-linux-gnu-ld.bfd",
		"x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-g++-posix", "x86_64-w64-mingw32-ld", "x86_64-w64-mingw32-as",
	} {
		if !StandsInFor(name) {
			t.Errorf("%s is not caught", name)
		}
	}
	for _, name := range []string{
		"", "gas", "riscv64-linux-gnu-as", "gcc-ar", "gcc-nm", "cc1", "gcc-", "gcc-12a", "riscv64-linux-gnu-gcc", "clang-format",
		"x86_64-linux-gnu-", "i686-w64-mingw32-gcc", "cairn", "cargo-nextest", "ldd", "ld.so", "ld-2.36.so",
	} {
		if StandsInFor(name) {
			t.Errorf("%s is caught", name)
		}
	}
}
