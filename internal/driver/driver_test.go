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
		does    string // c compiles, l links, s strips, g gc, t lto, x language
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
		{args: "-r a.o -o b.o", does: "c"},
		{args: "-Wl,-r a.o -o b.o", does: "c"},
		{args: "-Xlinker -r a.o", does: "c"},
		{args: "a.o -s", does: "cls"},
		{args: "a.o -Wl,-s", does: "cls"},
		{args: "a.o -Wl,-O1,--strip-all", does: "cls"},
		{args: "a.o -Xlinker -S", does: "cls"},
		{args: "a.o -o -s", does: "cl"},
		{args: "a.o -Wl,--gc-sections", does: "clg"},
		{args: "a.c -flto=auto", sources: "a.c", does: "clt"},
		{args: "a.c -flto -fno-lto", family: Clang, sources: "a.c", does: "cl"},
		{args: "-E a.c", sources: "a.c"},
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
		{args: "-masm=intel -c a.c", sources: "a.c", does: "c", refusal: "drop it"},
		{args: "-mcmodel=large -c a.c", sources: "a.c", does: "c", refusal: "-mcmodel=medium"},
		{args: "-mcmodel=medium -c a.c", sources: "a.c", does: "c"},
		{args: "-flto -c a.c", family: Clang, sources: "a.c", does: "ct", refusal: "-fno-lto"},
		{args: "--target=aarch64-linux-gnu -c a.c", family: Clang, sources: "a.c", does: "c", refusal: "aarch64"},
		{args: "-target aarch64-linux-gnu -c a.c", family: Clang, sources: "a.c", does: "c", refusal: "aarch64"},
		{args: "--target=x86_64-linux-musl -c a.c", family: Clang, sources: "a.c", does: "c"},
		{args: "-faddrsig -c a.c", family: Clang, sources: "a.c", does: "c", refusal: "drop it"},
		{args: "-emit-llvm -c a.c", family: Clang, sources: "a.c", does: "c", refusal: "bitcode"},
	} {
		c := Parse(test.family, strings.Fields(test.args), readTest)
		does := ""
		for _, d := range []struct {
			letter string
			is     bool
		}{{"c", c.Compiles}, {"l", c.Links}, {"s", c.Strips}, {"g", c.GC}, {"t", c.LTO}, {"x", c.Language}} {
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
	tc := Toolchain{Bin: "/t/bin", Include: "/t/inc", Archive: "/t/libcairn.a"}
	for _, test := range []struct {
		args   string
		family Family
		want   string
	}{
		{args: "-c a.c", want: "-B/t/bin/ -idirafter /t/inc -c a.c"},
		{args: "-c a.c", family: Clang, want: "-B/t/bin/ -fno-integrated-as -idirafter /t/inc -c a.c"},
		{args: "-c a.s", want: "-B/t/bin/ -c a.s"},
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
	} {
		args := strings.Fields(test.args)
		c := Parse(test.family, args, readTest)
		if got := strings.Join(c.Args(args, tc), " "); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.args, got, test.want)
		}
	}
}

func TestTimedArgs(t *testing.T) {
	t.Parallel()
	const unwinder = " -Wl,--push-state,--no-as-needed -lgcc_s -Wl,--pop-state"
	for _, test := range []struct {
		args   string
		family Family
		musl   bool
		want   string
	}{
		{args: "-c a.c", want: "-B/t/bin/ -idirafter /t/inc -DCAIRN_ON -c a.c -dp -fno-ipa-ra"},
		{args: "-c a.c", family: Clang, want: "-B/t/bin/ -fno-integrated-as -idirafter /t/inc -DCAIRN_ON -c a.c"},
		{args: "a.o", family: Clang, want: "-Wl,--build-id a.o -Wl,-u,__cairn_preinit -Wl,--export-dynamic-symbol=__cairn_process -Wl,--export-dynamic-symbol=__cairn_node -Wl,--export-dynamic-symbol=__cairn_flight_at" + unwinder + " /t/libcairn.a"},
		{args: "-shared a.o", family: Clang, want: "-Wl,--build-id -shared a.o" + unwinder + " /t/libcairn.a"},
		{args: "-Wl,-shared a.o", family: Clang, want: "-Wl,--build-id -Wl,-shared a.o" + unwinder + " /t/libcairn.a"},
		{args: "-static a.o", family: Clang, want: "-Wl,--build-id -static a.o -Wl,-u,__cairn_preinit -Wl,-u,_Unwind_Backtrace /t/libcairn.a"},
		{args: "a.o", family: Clang, musl: true, want: "-Wl,--build-id a.o -Wl,-u,__cairn_preinit -Wl,--export-dynamic-symbol=__cairn_process -Wl,--export-dynamic-symbol=__cairn_node -Wl,--export-dynamic-symbol=__cairn_flight_at /t/libcairn.a"},
		{
			args: "-flto -s -shared a.o",
			want: "-B/t/bin/ -Wl,--build-id -DCAIRN_ON -flto -shared a.o -dp -fno-ipa-ra -Wl,-u,__cairn_base" + unwinder + " /t/libcairn.a",
		},
	} {
		tc := Toolchain{Bin: "/t/bin", Include: "/t/inc", Archive: "/t/libcairn.a", Musl: test.musl, Timed: true}
		args := strings.Fields(test.args)
		c := Parse(test.family, args, readTest)
		if got := strings.Join(c.Args(args, tc), " "); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", test.args, got, test.want)
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
