package gobuild_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/cairnprof/cairn/internal/gobuild/functable"
	"github.com/cairnprof/cairn/internal/gobuild/linkmap"
	"github.com/cairnprof/cairn/internal/gobuild/rewrite"
	"github.com/cairnprof/cairn/prof"
)

// TestLost makes the map of a program with lists of probes of two packages, of which the linker
// kept one: the other is named, and the map has the functions of the first.
func TestLost(t *testing.T) {
	_, dir := planted(t, "cover")
	image := readImage(t, filepath.Join(dir, "app"))
	list := func(pkg string) *functable.Table {
		return &functable.Table{Package: pkg, Mode: prof.ModeCover, Elements: 1, ElementSize: 1, Funcs: []rewrite.Func{
			{Name: "main", File: "/x/main.go", Line: 1, Blocks: [][]rewrite.Lines{{{From: 1, To: 2}}}},
		}}
	}
	linked, err := linkmap.Make(image, []*functable.Table{list("example.com/lost"), list("main")}, false)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(linked.Lost, []string{"example.com/lost"}) || linked.Functions != 1 {
		t.Errorf("%+v", linked.Summary)
	}
}
