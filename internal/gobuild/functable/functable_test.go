package functable

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/cairnprof/cairn/internal/gobuild/rewrite"
	"github.com/cairnprof/cairn/prof"
)

func TestRoundTrip(t *testing.T) {
	t.Parallel()
	archive := []byte("!<arch>\n" + "__.PKGDEF       0           0     0     644     4         `\nabcd")
	if got, err := Read(bytes.NewReader(archive), int64(len(archive))); got != nil || err != nil {
		t.Errorf("without a list: %v, %v", got, err)
	}
	want := &Table{
		Package: "example.com/p", Import: "example.com/p", Mode: prof.ModeBlock, Elements: 3, ElementSize: 1, Skipped: []string{"asm: no body"},
		Funcs:    []rewrite.Func{{Name: "(*T).M", File: "/p.go", Line: 3, Element: 1, Blocks: [][]rewrite.Lines{{{From: 3, To: 4}}, {{From: 5, To: 5}}}, Units: []rewrite.Unit{{FromLine: 3, FromColumn: 10, ToLine: 4, ToColumn: 2, Statements: 2, Block: 1}}}},
		Unprobed: []rewrite.Func{{Name: "G", File: "/p.go", Blocks: [][]rewrite.Lines{{{From: 7, To: 7}}}, Rest: []rewrite.Lines{{From: 8, To: 9}}}},
	}
	out, err := Append(archive, want)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Read(bytes.NewReader(out), int64(len(out))); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	for n := range len(out) {
		_, _ = Read(bytes.NewReader(out[:n]), int64(n)) // an error or no list, never a panic
	}
	if _, err := Append([]byte("\x7fELF"), want); err == nil {
		t.Error("appended to what is no archive")
	}
	want.Funcs[0].Units[0].Block = 2
	if out, err = Append(archive, want); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(bytes.NewReader(out), int64(len(out))); err == nil {
		t.Error("read statements in a block that is not there")
	}
	want.Funcs[0].Element = 2
	if out, err = Append(archive, want); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(bytes.NewReader(out), int64(len(out))); err == nil {
		t.Error("read a function whose blocks exceed the records")
	}
}
