package driver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// described returns the words of a command line, inputs with what they are.
func described(l *LinkerLine) []string {
	var out []string
	for _, w := range l.Words {
		text := w.Option + "=" + w.Value
		if w.Input() {
			text = w.Value
		}
		for _, mark := range []struct {
			is   bool
			name string
		}{{w.Lib, "lib"}, {w.Static, "static"}, {w.Binary, "binary"}, {w.Lazy, "lazy"}} {
			if mark.is {
				text += " " + mark.name
			}
		}
		out = append(out, text)
	}
	return out
}

func TestParseLinker(t *testing.T) {
	t.Parallel()
	files := map[string]string{"more": "b.o '-o' \"out\"", "loop": "@loop"}
	read := func(path string) (string, error) {
		if text, ok := files[path]; ok {
			return text, nil
		}
		return "", errors.New("no such file")
	}
	for _, test := range []struct{ line, want string }{
		{"a.o -o app", "a.o; o=app"},
		{"-oapp -o=app", "o=app; o==app"},
		{"--output=app --output app -output app", "output=app; output=app; output=app"},
		{"-Ldir -L dir --library-path=dir -library-path dir", "L=dir; L=dir; library-path=dir; library-path=dir"},
		{"-lm -l m --library=m -static -lc -Bdynamic -lc", "m lib; m lib; m lib; static=; c lib static; Bdynamic=; c lib"},
		{"-lto -lto-O2 -lto-O=2 --lto-O2", "to lib; to-O2 lib; lto-O=2; lto-O2="},
		{"--push-state -Bstatic --pop-state -lc", "push-state=; Bstatic=; pop-state=; c lib"},
		{"--start-lib a.o --end-lib b.o", "start-lib=; a.o lazy; end-lib=; b.o"},
		{"--format=binary a --format elf b", "format=binary; a binary; format=elf; b"},
		{"@more @none", "b.o; o=out; @none"},
		{"-z now -znow -z", "z=now; znow=; z="},
		{"-mllvm -x -plugin-opt=O2 -plugin-opt O2 -u name -e name -T a.ld", "mllvm=-x; plugin-opt=O2; plugin-opt=O2; u=name; e=name; T=a.ld"},
		{"- a", "-; a"},
	} {
		l := ParseLinker(strings.Fields(test.line), read)
		if got := strings.Join(described(&l), "; "); got != test.want {
			t.Errorf("%s\n is %s\nnot %s", test.line, got, test.want)
		}
	}
	loop := ParseLinker([]string{"@loop", "a.o"}, read)
	if got := described(&loop); len(got) != 2 || got[1] != "a.o" {
		t.Errorf("a response file that names itself: %q", got)
	}
	dirs := ParseLinker(strings.Fields("--sysroot=/s -L=/a -L$SYSROOT/b -Lc"), read)
	if got := dirs.Dirs(); !slices.Equal(got, []string{"/s/a", "/s/b", "c"}) {
		t.Errorf("directories %q", got)
	}
	fat := ParseLinker(strings.Fields("--fat-lto-objects --no-fat-lto-objects --fat-lto-objects"), read)
	if !fat.Fat() || fat.Has("fat") || !fat.Has("fat-lto-objects") {
		t.Error("--fat-lto-objects is not seen")
	}
	excluding := ParseLinker(strings.Fields("--exclude-libs=a.a:b.a,c.a --exclude-libs d.a"), read)
	hidden := excluding.ExcludedLibs()
	for name, want := range map[string]bool{"x/a.a": true, "b.a": true, "/c.a": true, "d.a": true, "e.a": false} {
		if hidden(name) != want {
			t.Errorf("%s is excluded: %t", name, !want)
		}
	}
}

// TestLinkerValues asks lld which of its options take the next argument as their value: for
// others it looks for the file named there.
func TestLinkerValues(t *testing.T) {
	t.Parallel()
	lld, err := exec.LookPath("ld.lld-22")
	if err != nil {
		t.Skip("needs ld.lld-22")
	}
	dir := t.TempDir()
	help, err := exec.Command(lld, "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(help)) {
		word := strings.Fields(line)
		if len(word) == 0 || !strings.HasPrefix(word[0], "-") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimLeft(word[0], "-"), "=")
		// Those that say what the input is say it of this one as well; help prints and ends.
		if name = strings.TrimSuffix(name, ","); name == "" || name == "help" || name == "version" || name == "v" || name == "V" || seen[name] {
			continue
		}
		if seen[name] = true; testing.Short() && len(seen)%4 != 0 {
			continue
		}
		dashes := "--"
		if len(name) == 1 {
			dashes = "-"
		}
		cmd := exec.Command(lld, "-o", "out", "-m", "elf_x86_64", dashes+name, "no-such-input")
		cmd.Dir = filepath.Join(dir, fmt.Sprint(len(seen))) // some write a file of that name
		if err := os.Mkdir(cmd.Dir, 0o755); err != nil {
			t.Fatal(err)
		}
		out, _ := cmd.CombinedOutput()
		if strings.Contains(string(out), "unknown argument") {
			continue // it has a value, in the same word only
		}
		input := strings.Contains(string(out), "cannot open no-such-input") && !linkerReads[name]
		l := ParseLinker([]string{dashes + name, "no-such-input"}, func(string) (string, error) { return "", os.ErrNotExist })
		if mine := len(l.Words) == 2; mine != input {
			t.Errorf("%s%s: the next argument is an input to lld: %t, to cairn: %t\n%s", dashes, name, input, mine, out)
		}
	}
	if len(seen) < 150 {
		t.Errorf("lld has %d options", len(seen))
	}
}

// linkerReads are the options whose value is a file, found in the same way.
var linkerReads = map[string]bool{
	"dynamic-list": true, "export-dynamic-symbol-list": true, "in-implib": true, "just-symbols": true,
	"retain-symbols-file": true, "symbol-ordering-file": true,
}

// FuzzParseLinker checks that no argument of a command line is lost or invented.
func FuzzParseLinker(f *testing.F) {
	for _, seed := range []string{"a.o -o app -lm", "-static --start-lib a.o --end-lib -z now", "@more -mllvm -x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		args := strings.Fields(text)
		l := ParseLinker(args, func(string) (string, error) { return "", os.ErrNotExist })
		if got := l.Without(); !slices.Equal(got, args) {
			t.Errorf("%q is read as %q", args, got)
		}
	})
}
