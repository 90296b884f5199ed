package driver

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestLLDLink reads commands of lld-link.
func TestLLDLink(t *testing.T) {
	t.Parallel()
	read := func(name string) (string, error) { return "b.obj /src/c.obj", nil }
	for _, test := range []struct {
		args, inputs, output string
		other, bare          bool
	}{
		{"/nologo a.obj @rsp /OUT:app.exe /machine:x64 /libpath:/usr/lib", "a.obj b.obj /src/c.obj", "app.exe", false, false},
		{"-entry:start out/a.obj k.lib /NoDefaultLib /manifest:embed,id=1", "out/a.obj k.lib", "a.exe", false, true},
		{"/lib a.obj", "a.obj", "a.exe", true, false},
		{"/machine:arm64 a.obj", "a.obj", "a.exe", true, false},
	} {
		l := ParseLLDLink(strings.Fields(test.args), read, nil)
		if lldInputs(&l.Line) != test.inputs || l.Output != test.output || l.Other != test.other || len(l.Options(false)) != map[bool]int{true: 1, false: 2}[test.bare] {
			t.Errorf("%s: %+v", test.args, l)
		}
	}
	for args, want := range map[string]bool{"a.obj": true, "/debug a.obj": false, "-DEBUG:full a.obj": false} {
		l := ParseLLDLink(strings.Fields(args), read, nil)
		if got := slices.Contains(l.Options(true), "-debug:symtab"); got != want || slices.Contains(l.Options(false), "-debug:symtab") {
			t.Errorf("%s: %q", args, l.Options(true))
		}
	}
}

// TestAsksForDebug looks at which links make a PDB.
func TestAsksForDebug(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]bool{
		"-g": true, "-gcodeview": true, "/Z7": true, "-Zi": true, "/DEBUG": true, "-Wl,-debug:full": true, "-Wl,/opt:ref,/debug": true, "/clang:-g": true,
		"-DDEBUG": false, "/D_DEBUG": false, "debug/a.obj": false, "/debug/a.obj": false, "-Lout/Debug": false, "-O2": false, "/": false, "": false,
	} {
		if got := asksForDebug(word); got != want {
			t.Errorf("%q: %v, want %v", word, got, want)
		}
	}
}

// TestCL reads commands of clang-cl.
func TestCL(t *testing.T) {
	t.Parallel()
	read := func(name string) (string, error) {
		if name != "args" {
			return "", errors.New("no such file")
		}
		return `/c "C:\src dir\b.c" /DNAME=\"x\"`, nil
	}
	for _, test := range []struct {
		args            string
		sources, output string
		links, shared   bool
		noOpt           bool
	}{
		{"/nologo /O2 /EHsc /c /Foa.obj a.cc", "a.cc", "a.obj", false, false, false},
		{"-c -- /src/a.c", "/src/a.c", "", false, false, true},
		{"/c /Od /Fo: out/a.obj /I inc /D X /imsvc sys a.c", "a.c", "out/a.obj", false, false, true},
		{"/c /Foout/ /I/usr/inc /FIpre.h a.c b.c", "a.c b.c", "", false, false, true},
		{"@args", `C:\src dir\b.c`, "", false, false, true},
		{"@none a.c /E", "@none a.c", "", false, false, false},
		{"/O1 a.c /Feapp.exe /link /subsystem:console other.lib", "a.c", "app.exe", true, false, false},
		{"/LD /O1 a.c /link /OUT:a.dll", "a.c", "a.dll", true, true, false},
		{"/clang:-O2 /Tcone.x /Tp two.x", "", "", true, false, false},
		{"main.obj other.lib -fuse-ld=lld -o app.exe", "", "app.exe", true, false, false},
	} {
		c := ParseCL(strings.Fields(test.args), read, nil)
		got := strings.Join(c.Sources, " ")
		if strings.HasPrefix(test.sources, "@none") {
			got = test.sources // a file that cannot be read is an input
		}
		if got != test.sources || c.Output != test.output || c.Links != test.links || c.Shared != test.shared || c.NoOpt != test.noOpt {
			t.Errorf("%s: sources %q, output %q, links %t, shared %t, not optimised %t", test.args, got, c.Output, c.Links, c.Shared, c.NoOpt)
		}
		if want := []string{"--driver-mode=gcc", "--target=x86_64-pc-windows-msvc"}; !slices.Equal(c.Target, want) || c.Refusal != "" {
			t.Errorf("%s: target %q, refused: %q", test.args, c.Target, c.Refusal)
		}
	}
	if c := ParseCL([]string{"/c", "a.c", "--target=aarch64-pc-windows-msvc"}, read, nil); !c.Alien {
		t.Error("code of another machine is not refused")
	}
}

// TestCLInputs reads the inputs behind /link, of which names may have capitals and begin with a slash.
func TestCLInputs(t *testing.T) {
	t.Parallel()
	c := ParseCL(strings.Fields("a.obj /link Other.obj /src/B.obj /DEBUG -nodefaultlib /defaultlib:c.lib"), noFile, nil)
	inputs, _ := c.Inputs()
	var names []string
	for _, in := range inputs {
		names = append(names, in.Name)
	}
	if want := []string{"a.obj", "Other.obj", "/src/B.obj"}; !slices.Equal(names, want) || !slices.Contains(c.words, "-nodefaultlibs") || !slices.ContainsFunc(c.words, asksForDebug) {
		t.Errorf("inputs %q, want %q, of %q", names, want, c.words)
	}
}

// TestParseMSVCLinker reads where lld-link looks for inputs, and what its options are.
func TestParseMSVCLinker(t *testing.T) {
	t.Parallel()
	read := func(name string) (string, error) { return `"c d.obj" /DLL`, nil }
	l := ParseMSVCLinker(strings.Fields("/nologo a @rsp -defaultlib:libcmt /WholeArchive:out/all.lib /libpath:/usr/lib /opt:ref,icf"), read, nil)
	l.LibDirs = "/sdk/lib;/sdk/um;"
	var inputs, options []string
	for _, w := range l.Words {
		if w.Input() {
			inputs = append(inputs, w.Load+strings.Join(w.LibraryNames(), "|"))
		} else {
			options = append(options, w.Option+"="+w.Value)
		}
	}
	if got, want := strings.Join(inputs, " "), "a|a.obj c d.obj /defaultlib:libcmt.lib /wholearchive:out/all.lib"; got != want {
		t.Errorf("inputs %q, want %q", got, want)
	}
	if got, want := strings.Join(options, " "), "nologo= dll= libpath=/usr/lib opt=ref,icf"; got != want {
		t.Errorf("options %q, want %q", got, want)
	}
	if got := l.Output(); got != "a.dll" {
		t.Errorf("output %q", got)
	}
	if got := strings.Join(l.Dirs(), ","); got != ",/usr/lib,/sdk/lib,/sdk/um" {
		t.Errorf("directories %q", got)
	}
}

// TestParseMSVCPaths reads inputs that look as options do, those that are linked if they are needed, and what names an output.
func TestParseMSVCPaths(t *testing.T) {
	t.Parallel()
	l := ParseMSVCLinker(strings.Fields("/WHOLEARCHIVE:lib/all /src/a:b/c.obj /d.obj /start-lib e.obj /end-lib f.obj /driver"), nil, nil)
	var inputs []string
	for _, w := range l.Words {
		if w.Input() {
			inputs = append(inputs, strings.Join(w.LibraryNames(), "|"))
			if got := w.Lazy; got != (w.Value == "e.obj") {
				t.Errorf("%s is lazy: %v", w.Value, got)
			}
		}
	}
	if got, want := strings.Join(inputs, " "), "lib/all|lib/all.obj /src/a:b/c.obj /d.obj e.obj f.obj"; got != want {
		t.Errorf("inputs %q, want %q", got, want)
	}
	for machine, other := range map[string]bool{"x64": false, "AMD64": false, "arm64": true} {
		if got := ParseLLDLink([]string{"a.obj", "/machine:" + machine}, nil, nil).Other; got != other {
			t.Errorf("/machine:%s is left alone: %v", machine, got)
		}
	}
	if got := l.Output(); got != "all.sys" {
		t.Errorf("output %q", got)
	}
}

// lldInputs returns the inputs of a command of lld-link as it names them.
func lldInputs(l *LinkerLine) string {
	var inputs []string
	for i := range l.Words {
		if l.Words[i].Input() {
			inputs = append(inputs, l.Words[i].Value)
		}
	}
	return strings.Join(inputs, " ")
}

// TestSplitCL splits text as clang-cl does; what is wanted is from its -###.
func TestSplitCL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"a\\\\\"b c\\\\\\\"d \"e\"\"f\" \"g h\\\\\" i\\j\\ \"k\"l\"\" 'm n' \"o\np\" \\\\\\\\\"q r\n": {`a\b c\"d ef g`, `h\ i\j\ kl" 'm n' o`, `p \\q`, "r"},
		`""`:         {""},
		`\`:          {`\`},
		`a\`:         {`a\`},
		`"C:\d d\\"`: {`C:\d d\`},
		" \t\r\n":    nil,
	} {
		if got := splitCL(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// TestMSVCVariables reads command lines of which parts are in the environment.
func TestMSVCVariables(t *testing.T) {
	t.Parallel()
	vars := map[string]string{"LINK": `/out:"my app.exe" extra.obj /DEBUG /nodefaultlib`, "_LINK_": "/out:no.exe @rsp", "LIB": "/sdk", "CL": "/c /DX#1", "_CL_": "/O2 b.c"}
	env := func(name string) string { return vars[name] }
	read := func(string) (string, error) { return `c\ d.obj "e"`, nil }
	l := ParseLLDLink([]string{"a"}, read, env)
	if got := lldInputs(&l.Line); got != `c\ d.obj e extra.obj a` || l.Output != "my app.exe" || !l.bare || !l.debug || l.Line.LibDirs != "/sdk" {
		t.Errorf("inputs %q, %+v", got, l)
	}
	l = ParseLLDLink(strings.Fields("/lldignoreenv --rsp-quoting=posix @rsp a"), read, env)
	if got := lldInputs(&l.Line); got != "c d.obj e a" || l.Output != "c d.exe" {
		t.Errorf("inputs %q, output %q", got, l.Output)
	}
	c := ParseCL([]string{"a.c"}, read, env)
	if got := strings.Join(c.Sources, " "); got != "a.c b.c" || c.Links || c.NoOpt {
		t.Errorf("sources %q, links %v, not optimised %v", got, c.Links, c.NoOpt)
	}
	c = ParseCL([]string{"a.obj"}, read, nil)
	c.AddLINK(read, env)
	if inputs, _ := c.Inputs(); len(inputs) != 5 || inputs[4].Name != "extra.obj" || !slices.Contains(c.words, "-nodefaultlibs") || !slices.ContainsFunc(c.words, asksForDebug) {
		t.Errorf("words %q", c.words)
	}
}

// TestOwnOrder finds orders of links.
func TestOwnOrder(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-c a.c": "", "-Wl,--call-graph-ordering-file,f a.o": "--call-graph-ordering-file", "-Wl,/Call-Graph-Ordering-File:f a.o": "/Call-Graph-Ordering-File:f", "-Wl,--symbol-ordering-file=f a.o": "--symbol-ordering-file=f", "-Xlinker --section-ordering-file a.o": "--section-ordering-file",
		"-Wl,-order_file,f a.o": "-order_file", "/order.c order -order": "", "-Wl,/ORDER:@f a.o": "/ORDER:@f", "-Wl,-debug,-order:@f": "-order:@f",
	} {
		c := Parse(Clang, strings.Fields(args), noFile)
		if got := c.OwnOrder(); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	c := ParseCL(strings.Fields("a.obj /link /order:@f /debug"), noFile, nil)
	l := ParseMSVCLinker(strings.Fields("a.obj -ORDER:@f"), noFile, nil)
	if c.OwnOrder() != "/order:@f" || l.OwnOrder() != "-ORDER:@f" || !slices.ContainsFunc(c.words, asksForDebug) {
		t.Errorf("%q, %q: %q", c.OwnOrder(), l.OwnOrder(), c.words)
	}
}

// TestLong reads command lines with more words than are read, the one that names a response file included.
func TestLong(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a ", maxArgs)
	read := func(string) (string, error) { return text, nil }
	args := []string{"@f"}
	c, cl := Parse(GCC, args, read), ParseCL(args, read, nil)
	elf, apple, msvc := ParseLinker(args, read), ParseLD64(args, read), ParseMSVCLinker(args, read, nil)
	linked := ParseCL([]string{"a.obj"}, read, nil)
	linked.AddLINK(read, func(name string) string { return map[string]string{"LINK": "@f"}[name] })
	for i, err := range []error{c.Err, cl.Err, elf.Err, apple.Err, msvc.Err, linked.Err} {
		if !errors.Is(err, ErrLong) {
			t.Errorf("command %d: %v", i, err)
		}
	}
}
