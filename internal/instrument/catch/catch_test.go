package catch

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNames checks that the library has the same names of tools as the command, whose table is
// in the script build_catch and in the patterns of internal/toolchain.
func TestNames(t *testing.T) {
	t.Parallel()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("needs a compiler")
	}
	dir := t.TempDir()
	main := "#define CATCH_TEST\n#include \"catch.c\"\nint main(int n, char **v) { for (int i = 1; i < n; i++) putchar('0' + isTool(v[i]) + isStarted(v[i])); return 0; }\n"
	for name, text := range map[string]string{"catch.c": string(Source()), "main.c": main} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command(cc, "-w", "-o", filepath.Join(dir, "main"), filepath.Join(dir, "main.c"), "-ldl")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	yes := []string{
		"gcc", "cc", "c++", "g++-12", "gcc-4.8", "clang-22", "clang++", "gfortran", "ld", "ld.lld-22", "ld.bfd", "mold", "ld64.lld-22", "ld64", "lld-link", "lld-link-22", "clang-cl-22",
		"x86_64-linux-gnu-gcc", "x86_64-linux-gnu-g++-12", "x86_64-pc-linux-gnu-gcc", "x86_64-linux-musl-gcc", "musl-gcc", "x86_64-linux-gnu-ld.bfd",
		"aarch64-linux-gnu-gcc-12", "aarch64-linux-gnu-ld", "aarch64-linux-android21-clang++", "aarch64-linux-android-ld",
		"arm-linux-gnueabihf-gcc", "arm-linux-gnueabi-g++-12", "armv7a-linux-androideabi21-clang", "arm-linux-musleabihf-gcc", "armv7-unknown-linux-gnueabihf-gcc", "arm-linux-gnueabihf-ld",
		"x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-g++-posix", "x86_64-w64-mingw32-gcc-win32", "x86_64-w64-mingw32-ld",
	}
	no := []string{
		"", "gas", "riscv64-linux-gnu-as", "gcc-ar", "gcc-nm", "cc1", "gcc-", "-12", "12", "gcc.12", "gcc-12a", "riscv64-linux-gnu-gcc", "aarch64-linux-android21", "aarch64-linux-android21x-clang", "collect2", "clang-format",
		"x86_64-linux-gnu-", "i686-w64-mingw32-gcc", "gcc-threads", "arm-none-eabi-gcc", "armv7", "arm-gcc", "make", "cairn", "ldd", "ld64.so", "wasm-ld", "lld-linker", "ld.so", "ld-2.36.so",
	}
	started := []string{"as", "x86_64-linux-gnu-as", "aarch64-linux-gnu-as", "nasm", "yasm", "rustc", "rustc-1.63", "cargo", "ldc2", "ldc2-1.30", "dmd", "fpc"}
	out, err := exec.Command(filepath.Join(dir, "main"), slices.Concat(yes, no, started)...).Output()
	if want := strings.Repeat("2", len(yes)) + strings.Repeat("0", len(no)) + strings.Repeat("1", len(started)); err != nil || string(out) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, out, want)
	}
}
