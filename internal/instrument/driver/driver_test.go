package driver

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// responses are the response files of the tests.
var responses = map[string]string{
	"args":   "-O2 -c 'a b.c'",
	"link":   "a.o -s -o app",
	"nested": "@args -m32",
	"loop":   "@loop x.c",

	"integrated": "-fintegrated-as -g",
}

func readTest(name string) (string, error) {
	text, ok := responses[name]
	if !ok {
		return "", errors.New("no such file")
	}
	return text, nil
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args    string
		family  Family
		sources string
		does    string // c compiles, l links, s strips, g gc, t lto, x language, b bitcode, m merges objects
		refusal string // a word of it
	}{
		{args: "-c a.c", sources: "a.c", does: "c"},
		{args: "a.c", sources: "a.c", does: "cl"},
		{args: "a.c", family: Clang, sources: "a.c", does: "cl"},
		{args: "a.o", does: "cl"}, // gcc: an LTO object is compiled
		{args: "a.o", family: Clang, does: "l"},
		{args: "-c a.s b.S", does: "c"},
		{args: "-c a.s", family: Clang, does: ""},
		{args: "-c -x c -", sources: "-", does: "cx"},
		{args: "-xc a.txt", sources: "a.txt", does: "clx"},
		{args: "-x c a.h -x none b.o", sources: "a.h", does: "cl"},
		{args: "-x assembler-with-cpp a.c", does: "clx"},
		{args: "-x c-header a.h -o a.gch -c", does: "cx"},
		{args: "-r a.o -o b.o", does: "cm"},
		{args: "-Wl,-r a.o -o b.o", does: "cm"},
		{args: "-Xlinker -r a.o", does: "cm"},
		{args: "a.o -s", does: "cls"},
		{args: "a.o -Wl,-s", does: "cls"},
		{args: "a.o -Wl,-O1,--strip-all", does: "cls"},
		{args: "a.o -Xlinker -S", does: "cls"},
		{args: "a.o -o -s", does: "cl"},
		{args: "a.o -Wl,--gc-sections", does: "clg"},
		{args: "a.c -flto=auto", sources: "a.c", does: "clt"},
		{args: "a.c -flto -fno-lto", family: Clang, sources: "a.c", does: "cl"},
		{args: "-E a.c", sources: "a.c"},
		// As Xcode compiles and links: the values of its options are no sources.
		{
			args: "-x objective-c -ivfsstatcache SDK.sdkstatcache -target arm64-apple-ios15.0 -fmodules -iquote app.hmap -MMD -MT dependencies -MF app.d " +
				"--serialize-diagnostics app.dia -c app.m -o app.o -index-store-path DataStore -index-unit-output-path /app.o",
			family: Clang, sources: "app.m", does: "cx",
		},
		{
			args: "-Xlinker -reproducible -target arm64-apple-ios15.0 -filelist App.LinkFileList -install_name @rpath/App -Xlinker -rpath -Xlinker @executable_path " +
				"-compatibility_version 1 -weak_framework Metal -dead_strip -Xlinker -dependency_info -Xlinker App.dat -o App",
			family: Clang, does: "l",
		},
		{args: "-x c tool.c -sectcreate __TEXT __info_plist Info.plist -o tool", family: Clang, sources: "tool.c", does: "clx"},
		{args: "-sectcreate __TEXT", family: Clang},
		{args: "-S a.c", sources: "a.c"},
		{args: "-M a.c", sources: "a.c"},
		{args: "-MMD -MF a.d -c a.c", sources: "a.c", does: "c"},
		{args: "-### a.c", sources: "a.c"},
		{args: "--version"},
		{args: "-print-prog-name=as"},
		{args: "-dumpmachine"},
		{args: "-v"},
		{args: ""},
		{args: "-I a.c -D b.c -include c.c -o d.c e.f90", sources: "e.f90", does: "cl"},
		{args: "@args", sources: "a b.c", does: "c"},
		{args: "@link", does: "cls"},
		{args: "@missing", does: "cl"},
		{args: "@loop", sources: "x.c x.c x.c x.c x.c x.c x.c x.c", does: "cl"},

		{args: "-m32 -c a.c", sources: "a.c", does: "c", refusal: "-m64"},
		{args: "@nested", sources: "a b.c", does: "c", refusal: "-m32"},
		{args: "-m32 -E a.c", sources: "a.c"},
		{args: "-masm=intel -c a.c", sources: "a.c", does: "c", refusal: "remove it"},
		{args: "-mcmodel=large -c a.c", sources: "a.c", does: "c", refusal: "-mcmodel=small"},
		{args: "-mcmodel=medium -c a.c", sources: "a.c", does: "c"},
		{args: "-flto -c a.c", family: Clang, sources: "a.c", does: "ctb"},
		{args: "-flto=thin -ffat-lto-objects -c a.c", family: Clang, sources: "a.c", does: "ct"},
		{args: "-flto -r a.o -o b.o", family: Clang, does: "tbm"},
		{args: "--target=aarch64-linux-gnu -c a.c", family: Clang, sources: "a.c", does: "c"},
		{args: "-target riscv64-linux-gnu -c a.c", family: Clang, sources: "a.c", does: "c", refusal: "riscv64"},
		{args: "-target arm64-apple-ios15 -c a.c", family: Clang, sources: "a.c", does: "c"},
		{args: "-arch arm64 -c a.c", family: Clang, sources: "a.c", does: "c"},
		{args: "-arch arm64 -arch x86_64 -c a.c", family: Clang, sources: "a.c", does: "c", refusal: "lipo"},
		{args: "-target arm64e-apple-ios15 -c a.c", family: Clang, sources: "a.c", does: "c", refusal: "build for arm64"},
		{args: "-target armv7-apple-ios9 -c a.c", family: Clang, sources: "a.c", does: "c", refusal: "not supported"},
		{args: "--target=x86_64-linux-musl -c a.c", family: Clang, sources: "a.c", does: "c"},
		{args: "-faddrsig -c a.c", family: Clang, sources: "a.c", does: "c", refusal: "remove it"},
		{args: "-emit-llvm -c a.c", family: Clang, sources: "a.c", does: "cb"},
		{args: "-fembed-bitcode -c a.c", family: Clang, sources: "a.c", does: "c", refusal: "bitcode"},
		{args: "-c a.ccm b.cxxm c.c++m", family: Clang, sources: "a.ccm b.cxxm c.c++m", does: "c"},
		{args: "-c a.pcm", family: Clang, does: "c"},
		{args: "--precompile a.cppm", family: Clang, sources: "a.cppm"},
		{args: "-c a.cu", family: Clang, sources: "a.cu", does: "c", refusal: "graphics"},
	} {
		c := Parse(test.family, strings.Fields(test.args), readTest)
		does := ""
		for _, d := range []struct {
			letter string
			is     bool
		}{{"c", c.Compiles}, {"l", c.Links}, {"s", c.Strips}, {"g", c.GC}, {"t", c.LTO}, {"x", c.Language}, {"b", c.Bitcode}, {"m", c.Merges}} {
			if d.is {
				does += d.letter
			}
		}
		if got := strings.Join(c.Sources, " "); got != test.sources || does != test.does {
			t.Errorf("%s: sources %q, does %q; want %q, %q", test.args, got, does, test.sources, test.does)
		}
		if (c.Refusal != "") != (test.refusal != "") || !strings.Contains(c.Refusal, test.refusal) {
			t.Errorf("%s: refusal %q, want %q", test.args, c.Refusal, test.refusal)
		}
	}
}

func TestArgs(t *testing.T) {
	t.Parallel()
	tc := Toolchain{Bin: "/t/bin", Include: "/t/inc", Archive: "/t/libcairn.a", Hidden: "/t/hidden"}
	for _, test := range []struct {
		args   string
		family Family
		want   string
	}{
		{args: "-c a.c", want: "-B/t/bin/ -idirafter /t/inc -c a.c"},
		{args: "-c a.c", family: Clang, want: "-B/t/bin/ -fno-integrated-as -idirafter /t/inc -c a.c"},
		{args: "-c a.s", want: "-B/t/bin/ -c a.s"},
		// Compilers of other languages reject options for C's preprocessor.
		{args: "-c a.d", want: "-B/t/bin/ -c a.d"},
		{args: "-c a.c b.adb", want: "-B/t/bin/ -c a.c b.adb"},
		{args: "-xd -c a.txt", want: "-B/t/bin/ -xd -c a.txt"},
		{args: "a.o", want: "-B/t/bin/ -Wl,--build-id a.o /t/libcairn.a"},
		{args: "a.o", family: Clang, want: "-Wl,--build-id a.o /t/libcairn.a"},
		{args: "-x c a", want: "-B/t/bin/ -idirafter /t/inc -Wl,--build-id -x c a -x none /t/libcairn.a"},
		{args: "a.o -s -o -s", want: "-B/t/bin/ -Wl,--build-id a.o -o -s /t/libcairn.a"},
		{args: "a.o -Wl,-s,--as-needed -Wl,-S", want: "-B/t/bin/ -Wl,--build-id a.o -Wl,--as-needed /t/libcairn.a"},
		{args: "a.o -Xlinker -s -Xlinker -x", want: "-B/t/bin/ -Wl,--build-id a.o -Xlinker -x /t/libcairn.a"},
		{args: "@args @link", want: "-B/t/bin/ -idirafter /t/inc @args @link"}, // -c wins
		{args: "@link b.o", want: "-B/t/bin/ -Wl,--build-id a.o -o app b.o /t/libcairn.a"},
		{args: "@missing b.o", want: "-B/t/bin/ -Wl,--build-id @missing b.o /t/libcairn.a"},
		{
			args: "a.o -Wl,--gc-sections",
			want: "-B/t/bin/ -Wl,--build-id a.o -Wl,--gc-sections -Wl,-z,start-stop-gc /t/libcairn.a",
		},
		{
			args: "a.o -Wl,--gc-sections -fuse-ld=gold",
			want: "-B/t/bin/ -Wl,--build-id a.o -Wl,--gc-sections -fuse-ld=gold /t/libcairn.a",
		},
		{
			args: "a.o -flto",
			want: "-B/t/bin/ -Wl,--build-id a.o -flto -Wl,-u,__cairn_link_with_cairn_cc /t/libcairn.a",
		},
		{
			args: "a.o -static --target=x86_64-linux-musl", family: Clang,
			want: "-Wl,--build-id a.o -static --target=x86_64-linux-musl -Wl,-u,pthread_atfork /t/libcairn.a",
		},
		{
			args: "a.o -Wl,--build-id=none",
			want: "-B/t/bin/ -Wl,--build-id a.o -Wl,--build-id=none -Wl,--build-id /t/libcairn.a",
		},
		{args: "a.o -static", want: "-B/t/bin/ -Wl,--build-id a.o -static /t/libcairn.a"},
		// Headers are precompiled, whatever else is left out.
		{args: "s.hpp", want: "-B/t/bin/ -idirafter /t/inc s.hpp"},
		{args: "s.h", family: Clang, want: "-B/t/bin/ -fno-integrated-as -idirafter /t/inc s.h"},
		{args: "-x c++-header s -o s.gch", want: "-B/t/bin/ -idirafter /t/inc -x c++-header s -o s.gch"},
		{args: "-x c++-header s -x none a.o", want: "-B/t/bin/ -idirafter /t/inc -Wl,--build-id -x c++-header s -x none a.o /t/libcairn.a"},
		// Only one assembler of clang's takes probes.
		{args: "-fintegrated-as -c a.c", family: Clang, want: "-B/t/bin/ -fno-integrated-as -idirafter /t/inc -c a.c"},
		{args: "-c a.c -o -fintegrated-as @integrated", family: Clang, want: "-B/t/bin/ -fno-integrated-as -idirafter /t/inc -c a.c -o -fintegrated-as -g"},
		{args: "-integrated-as a.c -s", family: Clang, want: "-B/t/bin/ -fno-integrated-as -idirafter /t/inc -Wl,--build-id a.c /t/libcairn.a"},
		{args: "-c a.ll", family: Clang, want: "-B/t/bin/ -fno-integrated-as -c a.ll"},
		// GNU ld alone exports what is hidden.
		{args: "-shared a.o", want: "-B/t/bin/ -Wl,--build-id -shared a.o -Wl,--version-script=/t/hidden /t/libcairn.a"},
		{args: "-shared a.o -fuse-ld=lld", want: "-B/t/bin/ -Wl,--build-id -shared a.o -fuse-ld=lld /t/libcairn.a"},
		{args: "-shared a.o -Wl,--version-script=a", want: "-B/t/bin/ -Wl,--build-id -shared a.o -Wl,--version-script=a /t/libcairn.a"},
		{args: "-shared a.o -Wl,--version-script,a", want: "-B/t/bin/ -Wl,--build-id -shared a.o -Wl,--version-script,a /t/libcairn.a"},
	} {
		args := strings.Fields(test.args)
		c := Parse(test.family, args, readTest)
		if got := strings.Join(c.Args(args, tc), " "); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.args, got, test.want)
		}
	}
}

func TestBinutilsArgs(t *testing.T) {
	t.Parallel()
	for family, want := range map[Family]string{
		Clang: "-B/t/bin/ -fno-integrated-as -fbinutils-version=2.40 -c a.c",
		GCC:   "-B/t/bin/ -c a.c",
	} {
		cmd := Parse(family, []string{"-c", "a.c"}, readTest)
		cmd.Binutils = "2.40"
		if got := strings.Join(cmd.UseArgs([]string{"-c", "a.c"}, "/t/bin", nil), " "); got != strings.Replace(want, "-c", "-ffunction-sections -c", 1) {
			t.Errorf("a build by a profile: %s", got)
		}
		byData := cmd
		byData.Data = true
		if got := strings.Join(byData.UseArgs([]string{"-c", "a.c"}, "/t/bin", nil), " "); got != strings.Replace(want, "-c", "-ffunction-sections -fdata-sections -c", 1) {
			t.Errorf("a build that also orders data: %s", got)
		}
		if got := strings.Join(cmd.Args([]string{"-c", "a.c"}, Toolchain{Bin: "/t/bin", Include: "/t/inc"}), " "); got != strings.Replace(want, "-c", "-idirafter /t/inc -c", 1) {
			t.Errorf("with probes: %s", got)
		}
	}
}

func TestTimedArgs(t *testing.T) {
	t.Parallel()
	const unwinder = " -Wl,--push-state,--no-as-needed -lgcc_s -Wl,--pop-state"
	const guest, dl = " -Wl,-u,__cairn_guest", " -Wl,--push-state,--as-needed -ldl -Wl,--pop-state"
	const archives = " /t/libcairn-guest.a /t/libcairn.a"
	for _, test := range []struct {
		args    string
		family  Family
		musl    bool
		android bool
		loads   bool
		want    string
	}{
		{args: "-c a.c", want: "-B/t/bin/ -idirafter /t/inc -DCAIRN_ON -c a.c -dp -fno-ipa-ra"},
		{args: "-c a.c", family: Clang, want: "-B/t/bin/ -fno-integrated-as -idirafter /t/inc -DCAIRN_ON -c a.c"},
		{args: "a.o", family: Clang, want: "-Wl,--build-id a.o -Wl,-u,__cairn_preinit -Wl,--export-dynamic-symbol=__cairn_process" + unwinder + " /t/libcairn.a"},
		{args: "-shared a.o", family: Clang, want: "-Wl,--build-id -shared a.o" + guest + unwinder + archives + dl},
		{args: "-shared a.o", family: Clang, musl: true, want: "-Wl,--build-id -shared a.o -Wl,-u,__cairn_has_local /t/libcairn.a"},
		{args: "-shared a.o", family: Clang, android: true, want: "-Wl,--build-id -shared a.o -Wl,-u,__cairn_has_local -Wl,-z,nodelete /t/libcairn.a"},
		{args: "a.o", family: Clang, android: true, want: "-Wl,--build-id a.o -Wl,-u,__cairn_preinit /t/libcairn.a"},
		{args: "-Wl,-shared a.o", family: Clang, want: "-Wl,--build-id -Wl,-shared a.o" + guest + unwinder + archives + dl},
		{args: "-static a.o", family: Clang, want: "-Wl,--build-id -static a.o -Wl,-u,__cairn_preinit -Wl,-u,_Unwind_Backtrace -Wl,--eh-frame-hdr /t/libcairn.a"},
		{args: "a.o", family: Clang, musl: true, want: "-Wl,--build-id a.o -Wl,-u,__cairn_preinit -Wl,--export-dynamic-symbol=__cairn_process /t/libcairn.a"},
		{args: "a.o", family: Clang, loads: true, want: "-Wl,--build-id a.o -Wl,-u,__cairn_preinit -Wl,--export-dynamic-symbol=__cairn_process" + unwinder + archives + dl},
		{args: "-static a.o", family: Clang, loads: true, want: "-Wl,--build-id -static a.o -Wl,-u,__cairn_preinit -Wl,-u,_Unwind_Backtrace -Wl,--eh-frame-hdr /t/libcairn.a"},
		{args: "-nostdlib a.o", family: Clang, loads: true, want: "-Wl,--build-id -nostdlib a.o -Wl,-u,__cairn_preinit -Wl,--export-dynamic-symbol=__cairn_process" + unwinder + " /t/libcairn.a"},
		{args: "-nostartfiles a.o", family: Clang, loads: true, want: "-Wl,--build-id -nostartfiles a.o -Wl,-u,__cairn_preinit -Wl,--export-dynamic-symbol=__cairn_process" + unwinder + " /t/libcairn.a"},
		{
			args: "-flto -s -shared a.o",
			want: "-B/t/bin/ -Wl,--build-id -DCAIRN_ON -flto -shared a.o -dp -fno-ipa-ra -Wl,-u,__cairn_base" + guest + unwinder + archives + dl,
		},
	} {
		tc := Toolchain{Bin: "/t/bin", Include: "/t/inc", Archive: "/t/libcairn.a", Guest: "/t/libcairn-guest.a", Loads: test.loads, Musl: test.musl, Android: test.android, Timed: true, Marks: true}
		args := strings.Fields(test.args)
		c := Parse(test.family, args, readTest)
		if got := strings.Join(c.Args(args, tc), " "); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.args, got, test.want)
		}
	}
}

// TestApartArgs checks which commands keep functions with the same code apart: those that compile, of gcc, unless the user
// has chosen.
func TestApartArgs(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		args   string
		family Family
		timed  bool
		want   bool
		chosen string // part of the option that the user chose
	}{
		{args: "-c a.c", want: true},
		{args: "-O2 -flto a.c -o app", want: true},
		{args: "-c @args a.d", want: true},
		{args: "-x c -c -", want: true},
		{args: "-c a.c", family: Clang},
		{args: "-c a.c", timed: true},
		{args: "-flto a.o"},
		{args: "-E a.c"},
		{args: "-c a.c -fipa-icf", want: true, chosen: "ipa-icf"},
		{args: "-c a.c -fno-ipa-icf", want: true, chosen: "ipa-icf"},
		{args: "-fipa-icf-functions -c a.c", want: true, chosen: "ipa-icf"},
		{args: "-c a.c -fno-ipa-icf-functions", want: true, chosen: "ipa-icf"},
		{args: "-c a.c -fcrossjumping", want: true, chosen: "crossjumping"},
		{args: "-fno-tree-tail-merge -c a.c", want: true, chosen: "tail-merge"},
		{args: "-c a.c --param logical-op-non-short-circuit=1", want: true, chosen: "--param"},
		{args: "-c a.c --param=logical-op-non-short-circuit=1", want: true, chosen: "--param"},
	} {
		args := strings.Fields(test.args)
		c := Parse(test.family, args, readTest)
		var apart []string
		if test.family == GCC {
			apart = ApartOptions(true)
		}
		got := c.Args(args, Toolchain{Bin: "/t/bin", Include: "/t/inc", Archive: "/t/libcairn.a", Timed: test.timed, Apart: apart})
		for _, option := range ApartOptions(true) {
			want := test.want && !strings.Contains(option, test.chosen) || test.want && test.chosen == ""
			if added := slices.Contains(got, option) && !slices.Contains(args, option); added != want {
				t.Errorf("%s: %s is added: %v\n%q", test.args, option, added, got)
			}
		}
	}
}

// TestBare checks that programs without a C library are distinguished from those that contain
// one.
func TestBare(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"-nostdlib -static a.c":                true,
		"-static-pie -nodefaultlibs a.o":       true,
		"-nostdlib -static a.o -lgcc":          true,
		"-nostdlib a.o":                        false,
		"-static a.c":                          false,
		"-nostdlib -static -c a.c":             false,
		"-nostdlib -shared -static a.o":        false,
		"-nostdlib -static a.o -lc":            false,
		"-nostdlib -static a.o -l c":           false,
		"-nostdlib -static crt1.o /lib/libc.a": false,
		"-nostartfiles -static a.o":            false,
	} {
		for _, family := range []Family{GCC, Clang} {
			if c := Parse(family, strings.Fields(args), readTest); c.Bare != want {
				t.Errorf("%s: %t", args, c.Bare)
			}
		}
	}
}

func TestSplitResponse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                         nil,
		" \t\r\n\f\v":              nil,
		"a b\nc":                   {"a", "b", "c"},
		`'a b' "c d" e\ f`:         {"a b", "c d", "e f"},
		`'' ""`:                    {"", ""},
		`-DX="\"s\"" -DY='\'z'`:    {`-DX="s"`, `-DY='z`},
		`a'b c'd`:                  {"ab cd"},
		`back\\slash \`:            {`back\slash`, `\`},
		`"open`:                    {"open"},
		"-Wl,-rpath,\\$ORIGIN\r\n": {"-Wl,-rpath,$ORIGIN"},
	} {
		if got := SplitResponse(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestFamilyOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]Family{
		"/usr/bin/x86_64-linux-gnu-gcc-12": GCC, "/usr/bin/g++": GCC, "gfortran": GCC, "/usr/bin/cc": GCC,
		"/usr/lib/llvm-22/bin/clang": Clang, "clang++-22": Clang, "/opt/clang/bin/gcc": GCC,
	} {
		if got := FamilyOf(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if got := FamilyOf("/usr/lib/ccache/clang", "/usr/bin/ccache"); got != Clang {
		t.Errorf("clang through ccache: %v, want %v", got, Clang)
	}
}

func TestCross(t *testing.T) {
	t.Parallel()
	for name, foreign := range map[string]bool{
		"/usr/bin/aarch64-linux-gnu-gcc": false, "aarch64-linux-gnu-g++-12": false, "powerpc64le-linux-gnu-g++-12": true, "arm-none-eabi-gcc": true, "riscv64-unknown-elf-c++": true,
		"aarch64-linux-android24-clang": false, "x86_64-linux-android24-clang": true, "i686-linux-android24-clang": true, "armv7a-linux-androideabi24-clang": true,
		"gcc": false, "x86_64-linux-gnu-gcc-12": false, "i686-linux-gnu-gcc": false, "clang++-22": false, "musl-gcc": false, "afl-clang-fast": false,
		"x86_64-w64-mingw32-gcc": false, "i686-w64-mingw32-gcc": true, "aarch64-w64-mingw32-clang": true, "x86_64-pc-windows-msvc-clang": false, "x86_64-pc-win32-clang": false, "aarch64-pc-windows-msvc-clang": true, "x86_64-pc-cygwin-gcc": true, "c++": false, "my-own-wrapper": false,
	} {
		if why := Cross(name); (why != "") != foreign {
			t.Errorf("%s: %q", name, why)
		}
	}
}

func TestLinkerArgs(t *testing.T) {
	t.Parallel()
	const clock = "-u __cairn_preinit --export-dynamic-symbol=__cairn_process"
	for _, test := range []struct {
		args, linker string
		timed        bool
		want         string
	}{
		{args: "a.o", linker: "bfd"},
		{args: "a.o", linker: "bfd", timed: true, want: clock},
		{args: "-shared a.o", linker: "bfd", want: "--version-script=/t/hidden"},
		{args: "-Bshareable a.o --gc-sections", linker: "bfd", timed: true, want: "--version-script=/t/hidden -z start-stop-gc -u __cairn_guest"},
		{args: "-shared a.o --version-script a", linker: "bfd"},
		{args: "-shared a.o", linker: "gold"},
		{args: "a.o --gc-sections", linker: "mold"},
		{args: "a.o --gc-sections", linker: "lld", want: "-z start-stop-gc"},
		{args: "a.o --gc-sections"},
	} {
		tc := Toolchain{Hidden: "/t/hidden", Timed: test.timed}
		if got := strings.Join(LinkerArgs(strings.Fields(test.args), tc, test.linker), " "); got != test.want {
			t.Errorf("%s (%s):\n got %s\nwant %s", test.args, test.linker, got, test.want)
		}
	}
}

// TestDebug checks which commands are said to write debug information.
func TestDebug(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"-c a.c": false, "-g -c a.c": true, "-g -g0 -c a.c": false, "-g0 -ggdb3 -c a.c": true, "-gdwarf-4 -c a.c": true,
		"-gmlt -c a.c": true, "-grecord-gcc-switches -c a.c": false, "-gcc-toolchain x -c a.c": false, "@integrated -c a.c": true,
	} {
		if c := Parse(Clang, strings.Fields(args), readTest); c.Debug != want {
			t.Errorf("%s: %v", args, c.Debug)
		}
	}
}

// TestThunks checks which commands are said to guard calls through pointers.
func TestThunks(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"-O2 -c a.c": false, "-mindirect-branch=thunk -c a.c": true, "-mindirect-branch=thunk-extern -mindirect-branch=keep -c a.c": false,
		"-mindirect-branch-register -c a.c": false, "-mretpoline -c a.c": true, "-mlvi-hardening -c a.c": true, "-mspeculative-load-hardening -c a.c": true,
	} {
		for _, family := range []Family{GCC, Clang} {
			if c := Parse(family, strings.Fields(args), readTest); c.Thunks != want {
				t.Errorf("%s: %v", args, c.Thunks)
			}
		}
	}
}

// TestUnaligned checks which commands are said to align no loops.
func TestUnaligned(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"-O2 -c a.c": false, "-O2 -fno-align-loops -c a.c": true, "-falign-loops=1 -c a.c": true, "-falign-loops=1 -falign-loops -c a.c": false,
		"-falign-loops=32 -c a.c": false, "-fno-align-loops -falign-loops=16:11:8 -c a.c": false, "-fno-align-functions -c a.c": false,
	} {
		for _, family := range []Family{GCC, Clang} {
			if c := Parse(family, strings.Fields(args), readTest); c.Unaligned != want {
				t.Errorf("%s: %v", args, c.Unaligned)
			}
		}
	}
}

// TestNoOpt checks which commands are said to compile without optimisation.
func TestNoOpt(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{
		"-c a.c": true, "a.c b.o -o app": true, "-O0 -c a.c": true, "-O2 -O0 -c a.c": true, "-c a.c -ObjC": true,
		"-O -c a.c": false, "-O0 -Og -c a.c": false, "-Ofast -c a.c": false, "--optimize=2 -c a.c": false, "@args": false,
		"a.o -o app": false, "-E a.c": false, "-flto -c a.c": false, "-flto -fno-lto -c a.c": true,
		"-Xclang -O2 -c a.c": false, "-Xclang -disable-O0-optnone -c a.c": false, "-Xclang -fno-pch-timestamp -c a.c": true,
		"--config x.cfg -c a.c": false, "--config=x.cfg -c a.c": false, "-specs=x -c a.c": false,
	} {
		for _, family := range []Family{GCC, Clang} {
			if c := Parse(family, strings.Fields(args), readTest); c.NoOpt != want {
				t.Errorf("%s: %v", args, c.NoOpt)
			}
		}
	}
	// Modules of clang are not optimised yet, bitcode may be.
	for args, want := range map[string]bool{
		"-c m.pcm": true, "-O2 -c m.pcm": false, "-x pcm -c m": true, "-c a.bc": false, "-c a.ll": false, "a.cc m.pcm a.bc": false, "a.cc m.pcm": true,
	} {
		if c := Parse(Clang, strings.Fields(args), readTest); c.NoOpt != want {
			t.Errorf("%s: %v", args, c.NoOpt)
		}
	}
}
