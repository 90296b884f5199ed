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
		l := ParseLLDLink(strings.Fields(test.args), read)
		if strings.Join(l.Inputs, " ") != test.inputs || l.Output != test.output || l.Other != test.other || len(l.Options(false)) != map[bool]int{true: 1, false: 2}[test.bare] {
			t.Errorf("%s: %+v", test.args, l)
		}
	}
	for args, want := range map[string]bool{"a.obj": true, "/debug a.obj": false, "-DEBUG:full a.obj": false} {
		l := ParseLLDLink(strings.Fields(args), read)
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
		c := ParseCL(strings.Fields(test.args), read)
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
	if c := ParseCL([]string{"/c", "a.c", "--target=aarch64-pc-windows-msvc"}, read); !c.Alien {
		t.Error("code of another machine is not refused")
	}
}

// TestParseMSVCLinker reads where lld-link looks for inputs, and what its options are.
func TestParseMSVCLinker(t *testing.T) {
	t.Parallel()
	read := func(name string) (string, error) { return `"c d.obj" /DLL`, nil }
	l := ParseMSVCLinker(strings.Fields("/nologo a @rsp -defaultlib:libcmt /WholeArchive:out/all.lib /libpath:/usr/lib /opt:ref,icf"), read)
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
	l := ParseMSVCLinker(strings.Fields("/WHOLEARCHIVE:lib/all /src/a:b/c.obj /d.obj /start-lib e.obj /end-lib f.obj /driver"), nil)
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
		if got := ParseLLDLink([]string{"a.obj", "/machine:" + machine}, nil).Other; got != other {
			t.Errorf("/machine:%s is left alone: %v", machine, got)
		}
	}
	if got := l.Output(); got != "all.sys" {
		t.Errorf("output %q", got)
	}
}
