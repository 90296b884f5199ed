//go:build linux && amd64

package oracle

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/samples/tailguests"
)

// suite is a package of Debian with its own tests: shell commands that build with $CC and $CXX and that run.
type suite struct {
	debian, build, run string
	chance             sourceLine // depends on random numbers
}

// suites are programs of thousands of lines.
var suites = []suite{
	{debian: "libjsoncpp", build: `$CXX -std=gnu++17 -Iinclude -o app src/lib_json/*.cpp src/test_lib_json/*.cpp`, run: `./app`},
	{
		debian: "libtommath", chance: sourceLine{"bn_mp_prime_is_prime.c", 50},
		build: `printf '#include "tommath_private.h"
__attribute__((constructor)) static void seed(void) { s_mp_rand_jenkins_init(7); mp_rand_source(s_mp_rand_jenkins); }
' >seed.c; $CC -I. -o app *.c demo/shared.c demo/test.c`, run: `./app`,
	},
	{
		debian: "discount", build: `./configure.sh >/dev/null 2>&1; make -s >/dev/null; make -s cols echo >/dev/null`,
		run: `for i in tests/*.t; do sh $i >/dev/null 2>&1; done; true`,
	},
	{
		debian: "libonig", build: `for w in 'HAVE_ALLOCA_H 1' 'HAVE_ALLOCA 1' 'HAVE_STDINT_H 1' 'HAVE_SYS_TIME_H 1' 'HAVE_SYS_TYPES_H 1' 'HAVE_UNISTD_H 1' 'HAVE_INTTYPES_H 1' \
	'SIZEOF_INT 4' 'SIZEOF_LONG 8' 'SIZEOF_LONG_LONG 8' 'SIZEOF_VOIDP 8' 'PACKAGE "onig"' 'VERSION "6"' 'PACKAGE_VERSION "6"'; do echo "#define $w"; done >src/config.h
mkdir o; for f in $(ls src/*.c | grep -v -E 'mktable|_data|reggnu|koi8.c|regpos'); do $CC -DHAVE_CONFIG_H -DONIG_STATIC -Isrc -c $f -o o/$(basename $f .c).o; done; ar rc lib.a o/*.o
for t in test_utf8 test_syntax test_options testc testu test_regset test_back; do $CC -DHAVE_CONFIG_H -DONIG_STATIC -Isrc -o $t test/$t.c lib.a; done`,
		run: `for t in test_utf8 test_syntax test_options testc testu test_regset test_back; do ./$t >/dev/null; done`,
	},
}

// TestSuites compares the states of lines after the tests of whole programs with gcov, without optimisation: no line is
// wrong but the brackets at the ends of blocks, whose code gcov counts with that of the destructors there.
func TestSuites(t *testing.T) {
	t.Parallel()
	takesLong(t)
	mustHave(t, "gcov")
	for _, s := range suites {
		t.Run(s.debian, func(t *testing.T) {
			t.Parallel()
			truth, got := &lineStates{lines: map[sourceLine]bool{}, funcs: map[sourceFunc]bool{}}, &lineStates{lines: map[sourceLine]bool{}, funcs: map[sourceFunc]bool{}}
			dir := s.make(t, "gcc -O0 -g -w --coverage", "g++ -O0 -g -w --coverage")
			output(t, s.sh(t, dir, s.run))
			files := strings.Fields(output(t, s.sh(t, dir, "find . -name '*.gcda' ! -name '*ngc*'")))
			cmd := command(t, "gcov", append([]string{"--json-format", "--stdout"}, files...)...)
			cmd.Dir = dir
			truth.readGcov(t, dir, output(t, cmd))
			dir = s.make(t, cairn+" cc --mode block gcc -O0 -g -w", cairn+" cc --mode block g++ -O0 -g -w")
			raws := filepath.Join(dir, "raws")
			cmd = s.sh(t, dir, s.run)
			cmd.Env = append(cmd.Env, "CAIRN_DIR="+raws)
			output(t, cmd)
			output(t, s.sh(t, dir, cairn+" merge --allow-omitted -o all.mip . raws"))
			got.readTracefile(t, output(t, s.sh(t, dir, cairn+" covered -p all.mip --debug . --prefix-map "+dir+"=. --lcov")))
			s.judge(t, dir, truth, got)
		})
	}
}

// make builds the programs in a directory of their own.
func (s *suite) make(t *testing.T, cc, cxx string) string {
	t.Helper()
	g := tailguests.Guest{Debian: s.debian}
	_, _, dir := fetchGuest(t, &g)
	dir = realPath(dir)
	cmd := s.sh(t, dir, s.build)
	cmd.Env = append(cmd.Env, "CC="+cc, "CXX="+cxx)
	output(t, cmd)
	return dir
}

// sh is a shell that runs commands in a directory.
func (s *suite) sh(t *testing.T, dir, commands string) *exec.Cmd {
	cmd := command(t, "bash", "-c", commands)
	cmd.Dir = dir
	return cmd
}

// judge compares lines with gcov's.
func (s *suite) judge(t *testing.T, dir string, truth, got *lineStates) {
	t.Helper()
	var equal, wrong, unsaid, brackets int
	for at, ran := range truth.lines {
		is, known := got.lines[at]
		switch {
		case !known:
			unsaid++
		case is == ran || at == s.chance:
			equal++
		case s.generated(dir, at):
			brackets++
		default:
			wrong++
			t.Errorf("%s:%d: gcov says %v", at.file, at.line, ran)
		}
	}
	t.Logf("of %d lines %d are equal, %d not said, %d brackets, %d wrong", len(truth.lines), equal, unsaid, brackets, wrong)
	if equal < len(truth.lines)*4/5 {
		t.Errorf("that proves little")
	}
}

// generated reports whether a line has nothing but brackets, or is an element of an initialiser: gcov gives it only
// what destroys objects when something throws.
func (s *suite) generated(dir string, at sourceLine) bool {
	data, err := os.ReadFile(filepath.Join(dir, at.file))
	if err != nil {
		return false
	}
	lines := strings.Split(string(data), "\n")
	text := strings.TrimSpace(lines[min(at.line, len(lines))-1])
	return strings.Trim(text, "{}();, ") == "" || strings.HasPrefix(text, "{") && strings.HasSuffix(text, "},")
}
