package merge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/prof"

	"pgregory.net/rapid"
)

const rawAddr = 0x404000

var modes = []prof.Mode{prof.ModeCover, prof.ModeBlock, prof.ModeCount, prof.ModeFull, prof.ModeOrder, prof.ModeBlockOrder}

// newMap returns a map of n functions with the modes and block counts that
// shape gives, with unused bytes between records here and there. Unless it is
// nil, bare says which of so many blocks have no probe.
func newMap(n int, shape func(i int) (mode prof.Mode, blocks, gap int), bare func(blocks int) []prof.Implied) *prof.Map {
	m := &prof.Map{BuildID: "\x12\x34", Module: "app", RawAddr: rawAddr}
	for i := range n {
		mode, blocks, gap := shape(i)
		fr := prof.Fragment{Addr: 0x401000 + uint64(i)*32, Size: 32}
		if mode.HasBlocks() {
			for k := range blocks {
				fr.Blocks = append(fr.Blocks, uint32(k/2))
			}
		}
		m.RawSize += uint64(gap)
		if mode.HasCalls() {
			m.RawSize = (m.RawSize + 3) &^ 3
		}
		f := prof.Func{
			Name: fmt.Sprintf("f%d", i), Mode: mode, Record: m.RawSize, Fragments: []prof.Fragment{fr},
		}
		if bare != nil && mode.HasBlocks() {
			f.Implied = bare(f.NumBlocks())
		}
		m.Funcs = append(m.Funcs, f)
		m.RawSize += wire.RecordSize(mode.HasCalls(), mode.HasBlocks(), mode.HasEdges(), f.NumProbes())
	}
	return m
}

// drawMap draws a map; in half of those with blocks, some have no probe. A third is for Armv7, at any address.
func drawMap(t *rapid.T) *prof.Map {
	mixed := rapid.Bool().Draw(t, "mixed")
	all := rapid.SampledFrom(modes).Draw(t, "mode")
	var bare func(int) []prof.Implied
	if rapid.Bool().Draw(t, "implied") {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "bare"), 3))
		bare = func(blocks int) []prof.Implied { return randomImplied(r, blocks) }
	}
	m := newMap(rapid.IntRange(0, 16).Draw(t, "funcs"), func(int) (prof.Mode, int, int) {
		mode := all
		if mixed {
			mode = rapid.SampledFrom(modes).Draw(t, "mode")
		}
		gap := rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 3, 20}).Draw(t, "gap")
		return mode, rapid.SampledFrom([]int{0, 1, 2, 40}).Draw(t, "blocks"), gap
	}, bare)
	if rapid.IntRange(0, 2).Draw(t, "machine") == 0 {
		m.Machine = machine.Arm.String()
		m.RawAddr += uint64(rapid.SampledFrom([]int{0, 0, 1, 2, 0x7e}).Draw(t, "address"))
	}
	return m
}

// flagOf draws a flag.
func flagOf(m *prof.Map, off int, r *rand.Rand) byte {
	switch v := r.UintN(4); {
	case v < 2:
		return 0
	case v == 2 && m.Machine == machine.Arm.String():
		return wire.OddFlag(m.RawAddr + uint64(off))
	}
	return 1
}

// randomImplied leaves about half of n blocks without probes, each implied by one to four
// others.
func randomImplied(r *rand.Rand, blocks int) (implied []prof.Implied) {
	probed := []uint32{0}
	for b := 1; b < blocks; b++ {
		if r.UintN(2) == 0 {
			probed = append(probed, uint32(b))
		} else {
			implied = append(implied, prof.Implied{Block: uint32(b)})
		}
	}
	for i := range implied {
		im := &implied[i]
		for range 1 + r.UintN(4) {
			im.By = append(im.By, probed[r.IntN(len(probed))])
		}
		slices.Sort(im.By)
		im.By = slices.Compact(im.By)
	}
	return implied
}

// image builds the data that a run could leave behind: garbage where there is no record, all
// states of records, and perhaps without the zeros at the end.
func image(m *prof.Map, r *rand.Rand) []byte {
	data := make([]byte, m.RawSize)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	for i := range m.Funcs {
		f := &m.Funcs[i]
		start, n := flagsOf(f)
		for k := range data[start:][:n] {
			data[start+k] = flagOf(m, start+k, r)
		}
		if !f.Mode.HasCalls() {
			continue
		}
		le := binary.LittleEndian
		rec := data[f.Record:]
		order := []uint32{0, 1, 2, 7, 3 | wire.OrderInexact, wire.OrderInexact}[r.UintN(6)]
		le.PutUint32(rec, -[]uint32{0, 0, 1, 2, 1 << 31}[r.UintN(5)])
		le.PutUint32(rec[wire.OrderOffset:], order)
		if f.Mode == prof.ModeFull {
			back := 0x401000 + uint32(r.UintN(4))*100 - uint32(m.RawAddr+f.Record)
			le.PutUint32(rec[wire.CallerOffset:], []uint32{back, back, 1 << 31, 0, 12}[r.UintN(5)])
		}
	}
	if r.UintN(2) == 0 {
		clear(data[r.UintN(uint(len(data)+1)):])
		data = bytes.TrimRight(data, "\x00")
	}
	return data
}

func drawImages(t *rapid.T, m *prof.Map, most int) (images [][]byte) {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	for range rapid.IntRange(0, most).Draw(t, "images") {
		images = append(images, image(m, r))
	}
	return images
}

// naive does what Accumulator does, one byte and one function at a time.
func naive(m *prof.Map, images [][]byte) []prof.Counts {
	l := NewLayout(m)
	counts := make([]prof.Counts, len(m.Funcs))
	for i := range counts {
		if n := m.Funcs[i].NumBlocks() - 1; n > 0 {
			counts[i].Blocks = make([]uint64, n)
		}
	}
	for _, data := range images {
		data = append(slices.Clone(data), make([]byte, m.RawSize-uint64(len(data)))...)
		last := uint64(0)
		order := func(i int) uint32 { return binary.LittleEndian.Uint32(data[m.Funcs[i].Record+wire.OrderOffset:]) }
		for i := range m.Funcs {
			if m.Funcs[i].Mode.HasCalls() {
				last = max(last, uint64(order(i)&math.MaxInt32))
			}
		}
		for i := range m.Funcs {
			f, c := &m.Funcs[i], &counts[i]
			if !f.Mode.HasCalls() {
				c.Runs += uint64(min(data[f.Record], 1))
			}
			for k, ran := range naiveBlocks(f, data) {
				if k > 0 && ran {
					c.Blocks[k-1]++
				}
			}
			if !f.Mode.HasCalls() {
				continue
			}
			word := binary.LittleEndian.Uint32(data[f.Record:])
			if word == 0 && order(i) == 0 {
				continue
			}
			c.Runs++
			c.Calls += uint64(-word)
			c.Inexact = c.Inexact || word == 0 || order(i) > math.MaxInt32
			if index := uint64(order(i) & math.MaxInt32); index != 0 {
				c.OrderSum += index
			} else {
				c.OrderSum += last + 1
			}
			if f.Mode == prof.ModeFull {
				if d := int32(binary.LittleEndian.Uint32(data[f.Record+wire.CallerOffset:])); d != 0 {
					c.Callers = joinSites(append(c.Callers, prof.Site{Addr: l.site(i, d), Runs: 1}))
				}
			}
		}
	}
	return counts
}

// naiveBlocks returns which blocks of f ran in an image: nil without blocks.
func naiveBlocks(f *prof.Func, data []byte) []bool {
	if !f.Mode.HasBlocks() {
		return nil
	}
	ran := make([]bool, f.NumBlocks())
	at := f.Record
	if f.Mode == prof.ModeFull {
		ran[0] = binary.LittleEndian.Uint64(data[at:]) != 0
		at += wire.FullHeaderSize
	} else {
		ran[0] = data[at] != 0
		at++
	}
	by := make(map[int][]uint32)
	for _, im := range f.Implied {
		by[int(im.Block)] = im.By
	}
	for b := 1; b < len(ran); b++ {
		if by[b] == nil {
			ran[b] = data[at] != 0
			at++
		}
	}
	for b, list := range by {
		for _, e := range list {
			ran[b] = ran[b] || ran[e]
		}
	}
	return ran
}

func TestAccumulator(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMap(t)
		images := drawImages(t, m, 10)
		repeat := rapid.SampledFrom([]int{1, 1, 1, 100}).Draw(t, "repeat") // past 255
		l := NewLayout(m)
		one, a, b := NewAccumulator(l, 4), NewAccumulator(l, 4), NewAccumulator(l, 4)
		var all [][]byte
		for range repeat {
			for i, data := range images {
				all = append(all, data)
				for _, acc := range []*Accumulator{one, []*Accumulator{a, b}[i%2]} {
					if err := acc.Add(data); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		want := naive(m, all)
		if got := one.Counts(); one.Raws() != uint64(len(all)) || !reflect.DeepEqual(got, want) {
			t.Fatalf("Counts of %d raw files = %+v\nwant %+v", one.Raws(), got, want)
		}
		b.Merge(a)
		if got := b.Module(); got.Raws != one.Raws() || !reflect.DeepEqual(got.Counts, want) {
			t.Fatalf("Counts of two accumulators = %+v\nwant %+v", got.Counts, want)
		}
	})
}

// TestAddDamaged damages one flag. It checks that the error has the position of the flag, and
// that nothing of the image is counted.
func TestAddDamaged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMap(t)
		acc := NewAccumulator(NewLayout(m), 4)
		images := drawImages(t, m, 3)
		for _, data := range images {
			if err := acc.Add(data); err != nil {
				t.Fatal(err)
			}
		}
		var flags []int
		for i := range m.Funcs {
			for start, n := flagsOf(&m.Funcs[i]); n > 0; n-- {
				flags = append(flags, start+n-1)
			}
		}
		if len(flags) == 0 {
			t.Skip("no flags")
		}
		bad := image(m, rand.New(rand.NewPCG(1, 2)))
		off := rapid.SampledFrom(flags).Draw(t, "flag")
		bad = append(bad, make([]byte, m.RawSize)...)[:m.RawSize]
		bad[off] = rapid.ByteRange(2, 255).Draw(t, "value")
		if m.Machine != "" && bad[off] == wire.OddFlag(m.RawAddr+uint64(off)) {
			bad[off]-- // any even value is bad, and so is another odd one
		}
		bad = bad[:rapid.IntRange(off+1, len(bad)).Draw(t, "length")]
		var e *FlagError
		if err := acc.Add(bad); !errors.As(err, &e) || e.Off != off || e.Value != bad[off] {
			t.Fatalf("Add = %v, want flag %#x at %#x", err, bad[off], off)
		}
		if got, want := acc.Counts(), naive(m, images); acc.Raws() != uint64(len(images)) || !reflect.DeepEqual(got, want) {
			t.Fatalf("Counts = %+v\nwant %+v", got, want)
		}
	})
}

// TestOddFlags has each value of each flag of eight, between valid ones, at all addresses that differ.
func TestOddFlags(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for addr := range uint64(256) {
		odd := newOddFlags(addr)
		chunk := r.IntN(1000)
		first := addr + uint64(chunk)*8
		valid := func(i int) []byte { return []byte{0, 1, wire.OddFlag(first + uint64(i))} }
		for i := range 8 {
			for v := range 256 {
				var flags [8]byte
				for k := range flags {
					flags[k] = valid(k)[r.UintN(3)]
				}
				flags[i] = byte(v)
				want := slices.Contains(valid(i), byte(v))
				if got := odd.invalid(chunk, binary.LittleEndian.Uint64(flags[:])) == 0; got != want {
					t.Fatalf("flags % x from %#x on: flag %d is valid: %t, want %t", flags, first, i, got, want)
				}
			}
		}
	}
}

func TestAddTooLong(t *testing.T) {
	t.Parallel()
	m := newMap(3, func(int) (prof.Mode, int, int) { return prof.ModeCover, 0, 0 }, nil)
	if err := NewAccumulator(NewLayout(m), 4).Add(make([]byte, 4)); err == nil {
		t.Error("an image longer than its section passes")
	}
}

// TestHugeSection has a map that claims a section of 4 GiB for one flag at its
// end.
func TestHugeSection(t *testing.T) {
	t.Parallel()
	m := newMap(1, func(int) (prof.Mode, int, int) { return prof.ModeCover, 0, 1<<32 - 1 }, nil)
	acc := NewAccumulator(NewLayout(m), 4)
	if err := acc.Add([]byte{1, 2, 3}); err != nil || len(acc.lanes) != 1 || acc.Counts()[0].Runs != 0 {
		t.Errorf("Add: %v with %d lanes", err, len(acc.lanes))
	}
}

func drawProfile(t *rapid.T, maps []*prof.Map) *prof.Profile {
	p := new(prof.Profile)
	for _, m := range maps {
		if rapid.Bool().Draw(t, "present") {
			acc := NewAccumulator(NewLayout(m), 4)
			for _, data := range drawImages(t, m, 3) {
				if err := acc.Add(data); err != nil {
					t.Fatal(err)
				}
			}
			module := acc.Module()
			if rapid.IntRange(0, 9).Draw(t, "saturate") == 0 {
				module.Raws = math.MaxUint64
				for i := range module.Counts {
					if m.Funcs[i].Mode.HasCalls() {
						module.Counts[i].Calls = math.MaxUint64
					}
				}
			}
			p.Modules = append(p.Modules, module)
		}
	}
	return p
}

func encode(t *rapid.T, p *prof.Profile) []byte {
	var b bytes.Buffer
	if err := mip.WriteProfile(&b, p); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// sum merges profiles into an empty one, in the given order.
func sum(t *rapid.T, list ...*prof.Profile) *prof.Profile {
	p := new(prof.Profile)
	for _, q := range list {
		if err := Profiles(p, q); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestProfileLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var maps []*prof.Map
		for _, id := range []prof.BuildID{"a", "b", "c"} {
			m := drawMap(t)
			m.BuildID, m.Module = id, string(id)
			maps = append(maps, m)
		}
		a, b, c := drawProfile(t, maps), drawProfile(t, maps), drawProfile(t, maps)
		before := encode(t, a)
		want := encode(t, sum(t, a, b, c))
		for name, got := range map[string]*prof.Profile{
			"commutative": sum(t, c, b, a),
			"associative": sum(t, a, sum(t, b, c)),
			"identity":    sum(t, a, new(prof.Profile), b, new(prof.Profile), c),
		} {
			if !bytes.Equal(encode(t, got), want) {
				t.Errorf("not %s: %+v", name, got)
			}
		}
		if !bytes.Equal(encode(t, a), before) {
			t.Error("a source was changed")
		}
	})
}

// TestOrderOfFiles shuffles the images and checks that the profile has the same bytes.
func TestOrderOfFiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMap(t)
		l := NewLayout(m)
		images := drawImages(t, m, 8)
		file := func(images [][]byte, workers int) []byte {
			accs := make([]*Accumulator, workers)
			for i := range accs {
				accs[i] = NewAccumulator(l, 4)
			}
			for i, data := range images {
				if err := accs[i%workers].Add(data); err != nil {
					t.Fatal(err)
				}
			}
			for _, acc := range accs[1:] {
				accs[0].Merge(acc)
			}
			return encode(t, &prof.Profile{Modules: []prof.Module{accs[0].Module()}})
		}
		other := rapid.Permutation(images).Draw(t, "order")
		if !bytes.Equal(file(images, 1), file(other, rapid.IntRange(1, 4).Draw(t, "workers"))) {
			t.Error("bytes differ")
		}
	})
}

func TestConflicts(t *testing.T) {
	t.Parallel()
	base := func() *prof.Module {
		m := newMap(3, func(int) (prof.Mode, int, int) { return prof.ModeFull, 2, 0 }, nil)
		module := NewAccumulator(NewLayout(m), 4).Module()
		return &module
	}
	for name, edit := range map[string]func(*prof.Module){
		"address":   func(m *prof.Module) { m.RawAddr++ },
		"functions": func(m *prof.Module) { m.Funcs, m.Counts = m.Funcs[1:], m.Counts[1:] },
		"name":      func(m *prof.Module) { m.Funcs[1].Name = "x" },
		"signature": func(m *prof.Module) { m.Funcs[1].Signature++ },
		"record":    func(m *prof.Module) { m.Funcs[1].Record++ },
		"fragment":  func(m *prof.Module) { m.Funcs[1].Fragments[0].Size++ },
		"implied":   func(m *prof.Module) { m.Funcs[1].Implied = []prof.Implied{{Block: 1, By: []uint32{0}}} },
		"block":     func(m *prof.Module) { m.Funcs[1].Fragments[0].Blocks[1]++ },
		"call":      func(m *prof.Module) { m.Funcs[1].Calls = []prof.Call{{}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := base(), base()
			edit(b)
			if err := Modules(a, b); !errors.Is(err, ErrConflict) || a.Raws != 0 {
				t.Errorf("Modules = %v", err)
			}
			p := &prof.Profile{Modules: []prof.Module{*a}}
			if err := Profiles(p, &prof.Profile{Modules: []prof.Module{*b}}); !errors.Is(err, ErrConflict) {
				t.Errorf("Profiles = %v", err)
			}
		})
	}
	a, b := base(), base()
	b.Module = "aaa"
	if err := Modules(a, b); err != nil || a.Module != "aaa" {
		t.Errorf("Modules of a copied binary: %v, named %s", err, a.Module)
	}
	b.BuildID = "z"
	if err := Modules(a, b); err == nil {
		t.Error("different builds were merged")
	}
}

// BenchmarkAdd adds images of a program of 10,000 functions, of which a fifth
// ran. The program is for x86-64 or AArch64, whose flags are ones, or for Armv7.
func BenchmarkAdd(b *testing.B) {
	for _, mode := range modes {
		b.Run(mode.String(), func(b *testing.B) { benchmarkAdd(b, mode, "") })
		if mode != prof.ModeCount {
			b.Run(mode.String()+"-"+machine.Arm.String(), func(b *testing.B) { benchmarkAdd(b, mode, machine.Arm.String()) })
		}
	}
}

func benchmarkAdd(b *testing.B, mode prof.Mode, of string) {
	m := newMap(10_000, func(int) (prof.Mode, int, int) { return mode, 9, 0 }, nil)
	m.Machine = of
	l := NewLayout(m)
	data := make([]byte, m.RawSize)
	for i := range m.Funcs {
		if i%5 != 0 {
			continue
		}
		rec := data[m.Funcs[i].Record:]
		if mode.HasCalls() {
			binary.LittleEndian.PutUint32(rec, ^uint32(i))
			binary.LittleEndian.PutUint32(rec[wire.OrderOffset:], uint32(i)+1)
		}
		if mode == prof.ModeFull {
			binary.LittleEndian.PutUint32(rec[wire.CallerOffset:], uint32(-i))
		}
		start, n := flagsOf(&m.Funcs[i])
		for off := start; off < start+n; off++ {
			data[off] = max(l.oddFlag(off), 1)
		}
	}
	acc := NewAccumulator(l, 4)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if err := acc.Add(data); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkAddUnions adds images of a program of the size of SQLite: 1,500 functions of 28
// blocks, of which 7 are unions of three others each. The given percentage of the functions
// ran, and half of their blocks.
func BenchmarkAddUnions(b *testing.B) {
	for _, percent := range []int{0, 10, 50, 100} {
		b.Run(strconv.Itoa(percent), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			m := newMap(1500, func(int) (prof.Mode, int, int) { return prof.ModeBlock, 27, 0 }, func(blocks int) (implied []prof.Implied) {
				for i := range 7 {
					at := uint32(i) * 4
					implied = append(implied, prof.Implied{Block: at + 3, By: []uint32{at, at + 1, at + 2}})
				}
				return implied
			})
			data := make([]byte, m.RawSize)
			for i := range m.Funcs {
				if i*100 >= percent*len(m.Funcs) {
					break
				}
				start, n := flagsOf(&m.Funcs[i])
				data[start] = 1
				for k := 1; k < n; k++ {
					data[start+k] = byte(r.UintN(2))
				}
			}
			acc := NewAccumulator(NewLayout(m), 4)
			b.SetBytes(int64(len(data)))
			for b.Loop() {
				if err := acc.Add(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestOverlap has records that overlap in any way, as no linker makes them: no
// panic, and counts that a profile can hold.
func TestOverlap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := drawMap(t)
		for i := range m.Funcs {
			f := &m.Funcs[i]
			size := wire.RecordSize(f.Mode.HasCalls(), f.Mode.HasBlocks(), f.Mode.HasEdges(), f.NumProbes())
			f.Record = rapid.Uint64Range(0, m.RawSize-size).Draw(t, "record")
		}
		l := NewLayout(m)
		a, b := NewAccumulator(l, 4), NewAccumulator(l, 4)
		for range 3 {
			data := rapid.SliceOfN(rapid.ByteRange(0, 1), 0, int(m.RawSize)).Draw(t, "data")
			if err := a.Add(data); err != nil {
				t.Fatal(err)
			}
			if err := b.Add(data); err != nil {
				t.Fatal(err)
			}
		}
		a.Merge(b)
		encode(t, &prof.Profile{Modules: []prof.Module{a.Module()}})
	})
}
