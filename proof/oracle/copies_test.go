//go:build linux && amd64

package oracle

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/internal/binary/ehframe"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/mapped"
	"github.com/cairnprof/cairn/internal/samples/stackcopy"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/proof/tailguests"
	"github.com/cairnprof/cairn/proof/tailtest"
	samples "github.com/cairnprof/cairn/sample"
)

// copyingSource adds copies of stacks to the samples of a source.
type copyingSource struct {
	samples.Source
	copies []*samples.UserState
}

func (c *copyingSource) Batches(ctx context.Context) iter.Seq2[*samples.Batch, error] {
	return func(yield func(*samples.Batch, error) bool) {
		n := 0
		for b, err := range c.Source.Batches(ctx) {
			if err == nil {
				for i := range b.Samples {
					b.Samples[i].User, n = c.copies[n], n+1
				}
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// readCopies reads what steps writes to STEPS_COPIES.
func readCopies(t *testing.T, path string) (out []*samples.UserState) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	in := bytes.NewReader(data)
	for {
		var head [4]uint64
		if err := binary.Read(in, binary.LittleEndian, &head); err == io.EOF {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		const fp, sp, ip = 6, 7, 8
		u := &samples.UserState{Mask: 1<<fp | 1<<sp | 1<<ip, Regs: []uint64{head[2], head[1], head[0]}, Stack: make([]byte, head[3])}
		if _, err := io.ReadFull(in, u.Stack); err != nil {
			t.Fatal(err)
		}
		out = append(out, u)
	}
}

// tablesHere returns the unwind tables of the files at the paths of mappings.
func tablesHere() unwind.Tables {
	type table struct {
		rules    *stackcopy.Rules
		segments []objfile.Segment
	}
	var mu sync.Mutex
	known := map[string]*table{}
	return func(m *samples.Mapping) *stackcopy.Table {
		mu.Lock()
		defer mu.Unlock()
		x := known[m.Path]
		if x == nil {
			x = &table{}
			var rows []ehframe.Row
			rows, x.segments, _ = objfile.UnwindTable(m.Path, m.BuildID)
			x.rules = stackcopy.NewRules(rows)
			known[m.Path] = x
		}
		link, ok := mapped.Link(x.segments, m)
		if !ok {
			return nil
		}
		return &stackcopy.Table{Rules: x.rules, Bias: m.Start - link}
	}
}

// judgeCopies compares stacks that unwind tables find in copies with the true ones. Samples
// have nothing else: no branches, and no stacks of frame pointers.
func judgeCopies(t *testing.T, r *tailtest.Recording, copies []*samples.UserState) tailtest.StackTally {
	t.Helper()
	r.Depth = -1
	open := r.Samples
	r.Samples = func() (samples.Source, error) {
		src, err := open()
		return &copyingSource{src, copies}, err
	}
	got, err := r.JudgeStacks(t.Context(), unwind.Options{Frameless: true, Moments: true, Tables: tablesHere()})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestCopiedStacks steps through programs that gcc -O2 compiled without frame pointers, copies
// registers and stack at some instructions, and compares the stacks that unwind tables find in
// these copies with the calls that were open.
func TestCopiedStacks(t *testing.T) {
	mustHave(t, "gcc")
	dir := t.TempDir()
	steps := filepath.Join(dir, "steps")
	output(t, command(t, "gcc", "-O2", "-w", "-D_GNU_SOURCE", "-o", steps, filepath.Join("testdata", "steps.c")))
	record := func(t *testing.T, dir, program string, every, most string, args ...string) tailtest.StackTally {
		perf, truth, copies := filepath.Join(dir, "perf"), filepath.Join(dir, "truth"), filepath.Join(dir, "copies")
		cmd := command(t, steps, append([]string{every, most, perf, truth, program}, args...)...)
		cmd.Env = append(cmd.Env, "STEPS_COPIES="+copies)
		output(t, cmd)
		run, err := tailguests.Open(program, perf, truth, false)
		if err != nil {
			t.Fatal(err)
		}
		defer run.Close()
		return judgeCopies(t, &run.Recording, readCopies(t, copies))
	}
	t.Run("small", func(t *testing.T) {
		program := filepath.Join(dir, "small")
		output(t, command(t, "gcc", "-O2", "-g1", "-fomit-frame-pointer", "-w", "-o", program,
			filepath.Join("testdata", "copied.c"), "-Wl,--wrap=main", filepath.Join("testdata", "stopfirst.c")))
		got := record(t, dir, program, "7", "700")
		t.Logf("%v", &got)
		if sum := got.Sum(); got.Stacks < 500 || sum.Exact != got.Stacks {
			t.Errorf("%v", &got)
		}
		foldCopies(t, dir, program)
	})
	for _, g := range tailguests.All {
		if g.Name == "SQLite" { // it takes minutes to step through
			continue
		}
		t.Run(g.Name, func(t *testing.T) {
			t.Parallel()
			g := g.With("gcc", "-O2")
			mustHave(t, g.Compiler)
			root, dir, sources := fetchGuest(t, g)
			program := filepath.Join(dir, "program")
			compile, err := g.Command(root, sources, program)
			if err != nil {
				t.Fatal(err)
			}
			compile = append(slices.Clone(compile), "-fomit-frame-pointer", "-Wl,--wrap=main", filepath.Join("testdata", "stopfirst.c"))
			output(t, command(t, compile[0], compile[1:]...))
			got := record(t, dir, program, "23", "2000", g.Args(root, 1)...)
			t.Logf("%v", &got)
			if sum := got.Sum(); sum.Exact*100 < got.Stacks*95 || sum.Untrue*500 > got.Stacks {
				t.Errorf("%v", &got)
			}
		})
	}
}

// foldCopies writes a recording of steps as perf.data, and checks the stacks that cairn finds in
// it, from the first instruction of main on.
func foldCopies(t *testing.T, dir, program string) {
	t.Helper()
	text, err := os.Open(filepath.Join(dir, "perf"))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	src, err := perfscript.Open(text, "perf", 0)
	if err != nil {
		t.Fatal(err)
	}
	copies := readCopies(t, filepath.Join(dir, "copies"))
	w := &pdt.Writer{Events: []pdt.Event{{
		SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.Callchain | pdt.RegsUser | pdt.StackUser, Regs: copies[0].Mask, Name: "cpu-clock",
	}}}
	pid, n := uint32(0), 0
	for b, err := range src.Batches(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range b.Events {
			pid = uint32(e.PID)
			w.Map(pid, 1, e.Mapping)
		}
		for _, s := range b.Samples {
			u := copies[n]
			n++
			w.Sample(pdt.Sample{IP: s.Stack[0], PID: pid, TID: pid, Time: uint64(n + 1), ABI: 2, User: *u, Room: 1 << 15})
		}
	}
	path := filepath.Join(dir, "perf.data")
	out, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.WriteTo(out); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	folded := output(t, command(t, cairn, "profgen", "--binary", program, "--format", "folded", path))
	for _, want := range []string{"main;aligned [inferred];saved;leaf ", "main;deep;deep;deep;leaf ", "main;variable;saved;leaf ", "main;[outside];order;leaf ", "main;tail [inferred];last [inferred];leaf "} {
		if !strings.Contains(folded, want) {
			t.Errorf("no stack %s; there are\n%s", want, folded)
		}
	}
}
