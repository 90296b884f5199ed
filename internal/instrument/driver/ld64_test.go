package driver

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

func TestParseLD64(t *testing.T) {
	t.Parallel()
	files := map[string]string{"list": "a.o\nb c.o\n\n", "args": "-o app '-filelist' list"}
	read := func(path string) (string, error) {
		if text, ok := files[path]; ok {
			return text, nil
		}
		return "", errors.New("no such file")
	}
	for _, test := range []struct{ line, want string }{
		{"-arch arm64 -platform_version ios 15.0 15.0 a.o -o app", "arch=arm64; platform_version=ios; a.o; o=app"},
		{"-filelist list -filelist list,dir x.o", "a.o; b c.o; dir/a.o; dir/b c.o; x.o"},
		{"-filelist none -filelist", "filelist=none; filelist="},
		{"@args @none", "o=app; a.o; b c.o; @none"},
		{"-lc -weak-lz -hidden-lq -reexport-lr -lto_library lto.dylib", "c lib; z lib; q lib -load_hidden; r lib; lto_library=lto.dylib"},
		{"-force_load f.a -load_hidden h.a -weak_library w.dylib", "f.a -force_load; h.a -load_hidden; w.dylib"},
		{"-framework UIKit -weak_framework Metal,_debug", "UIKit lib; Metal,_debug lib"},
		{"-L/usr/lib -L dir -F/f -sectcreate __TEXT __info Info.plist a.o", "L=/usr/lib; L=dir; F=/f; sectcreate=__TEXT; a.o"},
		{"-alias a b -rename_section 1 2 3 4 -mllvm -x --lto-O3 --threads=2 -save-temps", "alias=a; rename_section=1; mllvm=-x; lto-O3=; threads=2; save-temps="},
		{"--start-lib a.o --end-lib b.o -o", "start-lib=; a.o lazy; end-lib=; b.o; o="},
	} {
		l := ParseLD64(strings.Fields(test.line), read)
		got := described(&l)
		for i := range got {
			if load := l.Words[i].Load; load != "" {
				got[i] += " " + load
			}
		}
		if got := strings.Join(got, "; "); got != test.want {
			t.Errorf("%s\n is %s\nnot %s", test.line, got, test.want)
		}
	}
	l := ParseLD64(strings.Fields("-syslibroot /sdk -L/usr/lib -Llocal -F/f -lm -framework A,_x"), read)
	if got := l.Dirs(); !slices.Equal(got, []string{"/sdk/usr/lib", "/usr/lib", "local", "/sdk/f", "/f"}) {
		t.Errorf("directories %q", got)
	}
	var names []string
	for i := range l.Words {
		if l.Words[i].Lib {
			names = append(names, l.Words[i].LibraryNames()...)
		}
	}
	if !slices.Equal(names, []string{"libm.tbd", "libm.dylib", "libm.a", "A.framework/A"}) {
		t.Errorf("files of libraries %q", names)
	}
}

// TestLD64Values asks lld how many arguments its options take.
func TestLD64Values(t *testing.T) {
	t.Parallel()
	lld, err := exec.LookPath("ld64.lld-22")
	if err != nil {
		t.Skip("needs ld64.lld-22")
	}
	help, err := exec.Command(lld, "--help-hidden").Output()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for line := range strings.Lines(string(help)) {
		words := strings.Fields(line)
		if len(words) == 0 || !strings.HasPrefix(words[0], "-") || strings.HasPrefix(words[0], "--") || strings.ContainsAny(words[0], "<=[") {
			continue
		}
		want := 0
		for want < len(words)-1 && strings.HasPrefix(words[want+1], "<") && strings.HasSuffix(words[want+1], ">") {
			want++
		}
		if compared++; ld64Values()[words[0][1:]] != want {
			t.Errorf("%s: %d values, want %d", words[0], ld64Values()[words[0][1:]], want)
		}
	}
	if compared < 150 {
		t.Errorf("only %d options compared", compared)
	}
}
