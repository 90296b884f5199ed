//go:build linux && amd64

package oracle

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/proof/tailguests"
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
#define UNUSED(f) __attribute__((weak)) mp_err f(void *p, size_t n) { return MP_ERR; }
UNUSED(s_read_arc4random) UNUSED(s_read_wincsp) UNUSED(s_read_ltm_rng)
' >seed.c; $CC -I. -o app *.c demo/shared.c demo/test.c`, run: `./app`,
	},
	{
		debian: "discount",
		build:  `CC="$CC -Wno-incompatible-function-pointer-types" ./configure.sh >/dev/null 2>&1; make -s >/dev/null; make -s cols echo >/dev/null`,
		run:    `for i in tests/*.t; do sh $i >/dev/null 2>&1; done; true`,
	},
	{
		debian: "libonig", build: `for w in 'HAVE_ALLOCA_H 1' 'HAVE_ALLOCA 1' 'HAVE_STDINT_H 1' 'HAVE_SYS_TIME_H 1' 'HAVE_SYS_TYPES_H 1' 'HAVE_UNISTD_H 1' 'HAVE_INTTYPES_H 1' \
	'SIZEOF_INT 4' 'SIZEOF_LONG 8' 'SIZEOF_LONG_LONG 8' 'SIZEOF_VOIDP 8' 'PACKAGE "onig"' 'VERSION "6"' 'PACKAGE_VERSION "6"'; do echo "#define $w"; done >src/config.h
mkdir o; for f in $(ls src/*.c | grep -v -E 'mktable|_data|reggnu|koi8.c|regpos'); do $CC -DHAVE_CONFIG_H -DONIG_STATIC -Isrc -c $f -o o/$(basename $f .c).o; done; ar rc lib.a o/*.o
for t in test_utf8 test_syntax test_options testc testu test_regset test_back; do $CC -DHAVE_CONFIG_H -DONIG_STATIC -Isrc -o $t test/$t.c lib.a; done`,
		run: `for t in test_utf8 test_syntax test_options testc testu test_regset test_back; do ./$t >/dev/null; done`,
	},
	{
		debian: "expat",
		build: `cd expat; for w in 'BYTEORDER 1234' 'XML_NS 1' 'XML_DTD 1' 'XML_CONTEXT_BYTES 1024' 'XML_DEV_URANDOM 1' 'PACKAGE_STRING "expat"'; do echo "#define $w"; done >expat_config.h
sed -i 's/^generate_hash_secret_salt(XML_Parser parser) {/& if (1) return 7;/' lib/xmlparse.c
for f in lib/xmlparse.c lib/xmlrole.c lib/xmltok.c tests/runtests.c tests/chardata.c tests/structdata.c tests/minicheck.c tests/memcheck.c; do
	$CC -DHAVE_EXPAT_CONFIG_H -DXML_TESTING -I. -Ilib -c $f -o $(basename $f .c).o; done; $CC -o app *.o`,
		run: `cd expat; ./app >/dev/null`,
	},
	{
		debian: "pcre2",
		build: `cd src; cp config.h.generic config.h; cp pcre2.h.generic pcre2.h; cp pcre2_chartables.c.dist pcre2_chartables.c
D='-DHAVE_CONFIG_H -DPCRE2_CODE_UNIT_WIDTH=8 -DSUPPORT_PCRE2_8 -DSUPPORT_UNICODE -DPCRE2_STATIC -DHAVE_MEMMOVE -DHAVE_STRERROR -DHAVE_LIMITS_H -DHAVE_UNISTD_H -DHAVE_STDINT_H -DHAVE_INTTYPES_H'
for f in $(ls pcre2_*.c pcre2posix.c pcre2test.c | grep -v -E 'dftables|fuzzsupport|jit_match|jit_misc|jit_test|printint|ucptables'); do $CC $D -c $f; done; $CC -o ../app *.o`,
		run: `for i in 1 2 4 5 6 7 9 15 18 19 20 21 22 23 24 25; do ./app -q -8 testdata/testinput$i /dev/null; done; true`,
	},
	{
		debian: "libpng1.6",
		build: `cp scripts/pnglibconf.h.prebuilt pnglibconf.h; for f in png*.c contrib/libtests/pngvalid.c; do $CC -I. -c $f; done
mv pngvalid.o pngvalid; mv pngtest.o test; $CC -o app *.o -x none pngvalid -lz -lm; $CC -o pngtest *.o -x none test -lz -lm`,
		run: `./pngtest pngtest.png >/dev/null; ./app --size >/dev/null; ./app --transform --nogamma >/dev/null; true`,
	},
}

// TestSuites compares the states of lines after the tests of whole programs, without optimisation, with gcov for gcc and
// llvm-cov for clang, of lines that the other one does not contradict, or says the same of. No line is unknown, and none is
// wrong but the brackets at the ends of blocks, whose code gcov counts with that of the destructors there.
func TestSuites(t *testing.T) {
	t.Parallel()
	skipLong(t)
	mustHave(t, "gcov")
	mustHave(t, "llvm-cov-22")
	for _, s := range suites {
		t.Run(s.debian, func(t *testing.T) {
			t.Parallel()
			dir := s.make(t, "gcc -O0 -g -w --coverage", "g++ -O0 -g -w --coverage")
			byGcov, byClang := s.gcov(t, dir), s.clangLines(t)
			for _, v := range []variant{{"gcc", "-O0"}, {"clang-22", "-O0"}} {
				t.Run(v.compiler+v.flags, func(t *testing.T) {
					truth := agreed(byGcov, byClang)
					if v.compiler == "gcc" {
						truth = uncontradicted(byGcov, byClang)
					}
					s.judge(t, dir, truth, s.covered(t, v))
				})
			}
		})
	}
}

// uncontradicted returns the lines of a of which b does not say something else.
func uncontradicted(a, b map[sourceLine]bool) map[sourceLine]bool {
	lines := map[sourceLine]bool{}
	for at, ran := range a {
		if other, ok := b[at]; !ok || other == ran {
			lines[at] = ran
		}
	}
	return lines
}

// gcov runs the tests of the programs in dir and returns what gcov says of lines.
func (s *suite) gcov(t *testing.T, dir string) map[sourceLine]bool {
	t.Helper()
	truth := &lineStates{lines: map[sourceLine]bool{}, funcs: map[sourceFunc]bool{}}
	output(t, s.sh(t, dir, s.run))
	files := strings.Fields(output(t, s.sh(t, dir, "find . -name '*.gcda' ! -name '*ngc*'")))
	for _, file := range files { // names of sources are relative to the directory of each
		cmd := command(t, "gcov", "--json-format", "--stdout", filepath.Base(file))
		cmd.Dir = filepath.Join(dir, filepath.Dir(file))
		var one lineStates
		one.lines, one.funcs = map[sourceLine]bool{}, truth.funcs
		one.readGcov(t, dir, output(t, cmd))
		for at, ran := range one.lines {
			at.file = s.name(dir, cmd.Dir, at.file)
			truth.lines[at] = truth.lines[at] || ran
		}
	}
	return truth.lines
}

// name returns the name of a file relative to dir, given its name, which may be relative to another directory.
func (s *suite) name(dir, from, file string) string {
	if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
		file = within(dir, filepath.Join(from, file))
	}
	return filepath.Clean(file)
}

// clangLines builds and runs the programs, and returns what llvm-cov says of lines.
func (s *suite) clangLines(t *testing.T) map[sourceLine]bool {
	t.Helper()
	const flags = " -O0 -g -w -fprofile-instr-generate -fcoverage-mapping"
	dir := s.make(t, "clang-22"+flags, "clang++-22"+flags)
	cmd := s.sh(t, dir, s.run)
	cmd.Env = append(cmd.Env, "LLVM_PROFILE_FILE="+dir+"/cov/%m-%p.raw")
	output(t, cmd)
	output(t, s.sh(t, dir, "llvm-profdata-22 merge -o cov.data cov/*.raw"))
	lines := map[sourceLine]bool{}
	for _, program := range strings.Fields(output(t, s.sh(t, dir, "find . -type f -perm -100 -size +20k"))) {
		cmd := command(t, "llvm-cov-22", "export", "-format=lcov", "-instr-profile", "cov.data", program)
		cmd.Dir = dir
		text, err := cmd.Output()
		if err != nil {
			continue // it has no probes
		}
		for at, ran := range readLCOV(t, string(text)) {
			at.file = within(dir, at.file)
			lines[at] = lines[at] || ran
		}
	}
	return lines
}

// covered builds and runs the programs, and returns the states of their lines.
func (s *suite) covered(t *testing.T, v variant) *lineStates {
	t.Helper()
	got := &lineStates{lines: map[sourceLine]bool{}, funcs: map[sourceFunc]bool{}}
	cc := cairn + " cc --mode block " + v.compiler + " " + v.flags + " -g -w"
	dir := s.make(t, cc, strings.NewReplacer(" gcc ", " g++ ", " clang-22 ", " clang++-22 ").Replace(cc))
	cmd := s.sh(t, dir, s.run)
	cmd.Env = append(cmd.Env, "CAIRN_DIR="+filepath.Join(dir, "raws"))
	output(t, cmd)
	output(t, s.sh(t, dir, cairn+" merge --allow-omitted -o all.mip . raws"))
	got.readTracefile(t, output(t, s.sh(t, dir, cairn+" covered -p all.mip --debug . --prefix-map "+dir+"=. --lcov")))
	got.readUnknown(output(t, s.sh(t, dir, cairn+" covered -p all.mip --debug . --prefix-map "+dir+"=. --lines --unknown")))
	return got
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

// judge compares lines with the truth. Sources are in dir.
func (s *suite) judge(t *testing.T, dir string, truth map[sourceLine]bool, got *lineStates) {
	t.Helper()
	isUnknown := map[sourceLine]bool{}
	for _, at := range got.unknown {
		isUnknown[at] = true
	}
	var equal, wrong, unknown, without, brackets int
	for at, ran := range truth {
		is, known := got.lines[at]
		switch {
		case !known && isUnknown[at]:
			unknown++
			t.Errorf("%s:%d is unknown: ran is %v", at.file, at.line, ran)
		case !known:
			without++
		case is == ran || at == s.chance:
			equal++
		case s.generated(dir, at):
			brackets++
		default:
			wrong++
			t.Errorf("%s:%d: ran is %v, and covered says %v", at.file, at.line, ran, is)
		}
	}
	t.Logf("of %d lines %d are equal, %d have no code, %d are unknown, %d brackets, %d wrong", len(truth), equal, without, unknown, brackets, wrong)
	if equal < len(truth)*4/5 {
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
