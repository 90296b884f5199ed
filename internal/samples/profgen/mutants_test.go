package profgen

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/samples/unwind"
)

// TestMutants checks that samples of a binary with wrong bytes give a profile or an error of
// one line, and never a panic.
func TestMutants(t *testing.T) {
	t.Parallel()
	r := recordings()[0]
	r.record(t)
	elf, err := os.ReadFile(r.program)
	if err != nil {
		t.Fatal(err)
	}
	hot := hotspots(t, r.program, elf)
	random := rand.New(rand.NewPCG(11, 12))
	path := filepath.Join(t.TempDir(), filepath.Base(r.program))
	const mutants = 150
	failed := 0
	for range mutants {
		mutant := bytes.Clone(elf)
		for range 1 + random.IntN(4) {
			at := hot[random.IntN(len(hot))]
			mutant[at] = byte(random.Uint32())
		}
		if err := os.WriteFile(path, mutant, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := everything(path, r.text); err != nil {
			failed++
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("several lines: %v", err)
			}
		}
	}
	if failed == 0 || failed == mutants {
		t.Errorf("%d of %d mutants are refused", failed, mutants)
	}
}

// hotspots returns the places where wrong bytes do most: headers, probes, symbols.
func hotspots(t *testing.T, program string, elf []byte) []int {
	t.Helper()
	f, err := objfile.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var hot []int
	add := func(lo, size int) {
		for i := lo; i < lo+size && i < len(elf); i++ {
			hot = append(hot, i)
		}
	}
	add(16, 0x400)
	add(len(elf)-0x900, 0x900) // section headers
	for _, name := range []string{".pseudo_probe", ".pseudo_probe_desc", ".symtab", ".debug_rnglists", ".text"} {
		data, _, _, ok, err := f.Section(name)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(elf, data); ok && len(data) > 0 {
			add(at, len(data))
		}
	}
	return hot
}

// everything makes all kinds of profiles.
func everything(path string, text []byte) error {
	f, err := objfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	p, err := f.Program()
	if err != nil {
		return err
	}
	code, err := machinecode.NewSet(p)
	if err != nil {
		return err
	}
	var info DebugInfo
	if info.Lines, err = f.Lines(); err != nil {
		return err
	}
	if info.Scopes, err = f.Scopes(); err != nil {
		return err
	}
	files, err := f.SourceFiles()
	if err != nil {
		return err
	}
	source := NewSource(code, []DebugInfo{info}, []*objfile.SourceFiles{files})
	lines := NewLines(code, []DebugInfo{info})
	for _, opt := range []unwind.Options{{TailCalls: true, Moments: true}, {Flat: true}, {Inlining: lines}} {
		src, err := perfscript.Open(bytes.NewReader(text), "samples", int64(len(text)))
		if err != nil {
			return err
		}
		r, err := unwind.Run(context.Background(), src, code, opt, 1)
		if err != nil {
			return err
		}
		if opt.Inlining != nil {
			ContextsByLines(r, lines, Options{})
			continue
		}
		SampledStacks(r, code, StackOptions{Detail: Addresses, Source: source})
		FlatByLines(r, lines)
		probes, err := ReadProbes(code, []*objfile.Program{p}, r)
		if err != nil {
			return err
		}
		if opt.Flat {
			FlatByProbes(r, probes)
		} else {
			ContextsByProbes(r, probes, Options{MaxDepth: 3})
		}
	}
	return nil
}
