package driver

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestInputs(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"-o app main.o -lm":                       "main.o -lm | ",
		"-o main.o x.c -L dir -Ldir2 -l z":        "x.c -lz | dir dir2",
		"-static a.o -lm":                         "a.o static -lm static | ",
		"a.o -Wl,-Bstatic -lz -Wl,-Bdynamic -lm":  "a.o -lz static -lm | ",
		"-include x.h -MF dep a.c -Wl,b.o,--foo":  "a.c b.o | ",
		"-Xlinker c.o -T script -u sym libx.so.3": "libx.so.3 | ",
		"-l": " | ",
	} {
		c := Parse(GCC, strings.Fields(args), nil)
		inputs, dirs := c.Inputs()
		var got []string
		for _, in := range inputs {
			name := in.Name
			if in.Lib {
				name = "-l" + name
			}
			if in.Static {
				name += " static"
			}
			got = append(got, name)
		}
		if text := fmt.Sprintf("%s | %s", strings.Join(got, " "), strings.Join(dirs, " ")); text != want {
			t.Errorf("%q: %q, want %q", args, text, want)
		}
	}
}

func TestForward(t *testing.T) {
	t.Parallel()
	c := Parse(Clang, strings.Fields("-O2 -B dir -o -B2 --target=x86_64-linux-musl a.c --sysroot=/x -Wall -target y -fuse-ld=lld"), nil)
	want := strings.Fields("-B dir --target=x86_64-linux-musl --sysroot=/x -target y")
	if got := c.Forward(); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
