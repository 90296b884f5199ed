package export

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/cairnprof/cairn/format/fdata"
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/prof"
)

// image is code at an address.
type image struct {
	addr uint64
	code []byte
}

func (m image) Bytes(lo, hi uint64) []byte {
	if lo < m.addr || hi < lo || hi > m.addr+uint64(len(m.code)) {
		return nil
	}
	return m.code[lo-m.addr : hi-m.addr]
}

// line16 is a source in which every 16 bytes are a line, starting with line 100.
type line16 struct{}

func (line16) Frames(addr uint64) []Frame {
	return []Frame{{File: "a.c", Start: 100, Line: 100 + int(addr&0xfff)/16}}
}

func (line16) Entry(uint64) (string, int) { return "a.c", 100 }

func (line16) Rows(lo, hi uint64) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		for a := lo; a < hi && yield(a); a = a&^15 + 16 {
		}
	}
}

// small is a module of three functions: main runs once and calls step in a loop,
// in block 1; step, run ten times, calls leaf in its entry block and again in
// block 1, which did not run. leaf was called 30 times: ten of them through a
// pointer in block 2 of main.
func small() (*prof.Module, image) {
	code := bytes.Repeat([]byte{0x90}, 0x3000)
	call := func(at, target uint64) {
		d := target - (at + 5)
		copy(code[at-0x1000:], []byte{0xe8, byte(d), byte(d >> 8), byte(d >> 16), byte(d >> 24)})
	}
	call(0x1014, 0x2000)
	call(0x2004, 0x3000)
	call(0x2014, 0x3000)
	copy(code[0x24:], []byte{0x41, 0xff, 0xd4}) // call *%r12
	fn := func(name string, addr uint64, blocks ...uint32) prof.Func {
		return prof.Func{Name: name, File: "a.c", Mode: prof.ModeFull, Fragments: []prof.Fragment{{Addr: addr, Size: 0x40, Blocks: blocks}}}
	}
	m := &prof.Module{Raws: 1, Map: prof.Map{Module: "small", BuildID: "id", Funcs: []prof.Func{
		fn("main", 0x1000, 0x10, 0x20), fn("step", 0x2000, 0x10), fn("leaf.part.0", 0x3000),
	}}}
	m.Funcs[0].Calls = []prof.Call{{Block: 1, Callee: "step"}}
	m.Funcs[1].Calls = []prof.Call{{Block: 0, Callee: "leaf.part.0"}, {Block: 1, Callee: "leaf.part.0"}}
	m.Counts = []prof.Counts{
		{Runs: 1, Calls: 1, Blocks: []uint64{1, 1}, Callers: []prof.Site{{Runs: 1}}},
		{Runs: 1, Calls: 10, Blocks: []uint64{0}, Callers: []prof.Site{{Addr: 0x1019, Runs: 1}}},
		{Runs: 1, Calls: 30, Blocks: []uint64{}, Callers: []prof.Site{{Addr: 0x1027, Runs: 1}}},
	}
	return m, image{0x1000, code}
}

func TestSites(t *testing.T) {
	t.Parallel()
	m, code := small()
	want := []Site{
		{Caller: 0, Block: 1, Addr: 0x1014, Callee: 1, Count: 10, Only: true},
		{Caller: 0, Block: 2, Addr: 0x1024, Callee: 2, Indirect: true, Count: 3},
		{Caller: 1, Block: 0, Addr: 0x2004, Callee: 2, Count: 27},
	}
	if got := Sites(m, code); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if got := Sites(m, nil); got != nil {
		t.Errorf("without code: %+v", got)
	}
}

// TestSitesAArch64 is TestSites for code of AArch64.
func TestSitesAArch64(t *testing.T) {
	t.Parallel()
	m, code := small()
	m.Machine = "AArch64"
	for i := 0; i < len(code.code); i += 4 {
		copy(code.code[i:], []byte{0x1f, 0x20, 0x03, 0xd5}) // nop
	}
	branch := func(at, target uint64, op uint32) {
		binary.LittleEndian.PutUint32(code.code[at-0x1000:], op|uint32(int32(target-at)>>2)&(1<<26-1))
	}
	branch(0x1014, 0x2000, 0x94000000) // bl step
	branch(0x2004, 0x3000, 0x14000000) // b leaf, a tail call
	branch(0x2014, 0x3000, 0x94000000) // bl leaf
	branch(0x2008, 0x2000, 0x14000000) // b step, a loop in it
	binary.LittleEndian.PutUint32(code.code[0x24:], 0xd63f0180)
	m.Counts[1].Callers[0].Addr, m.Counts[2].Callers[0].Addr = 0x1018, 0x1028
	want := []Site{
		{Caller: 0, Block: 1, Addr: 0x1014, Callee: 1, Count: 10, Only: true},
		{Caller: 0, Block: 2, Addr: 0x1024, Callee: 2, Indirect: true, Count: 3},
		{Caller: 1, Block: 0, Addr: 0x2004, Callee: 2, Count: 27},
	}
	if got := Sites(m, code); !slices.Equal(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	for _, w := range []uint32{0xd63f0180, 0xd63f099f, 0xd73f0981} { // blr x12, blraaz x12, blraa x12, x1
		binary.LittleEndian.PutUint32(code.code[0x24:], w)
		if c := callBeforeAArch64(code, 0x1028); !c.indirect || c.addr != 0x1024 {
			t.Errorf("%#x: %+v", w, c)
		}
	}
}

func TestLLVMSample(t *testing.T) {
	t.Parallel()
	m, code := small()
	var b bytes.Buffer
	if err := sampleprof.Write(&b, LLVMSample(m, line16{}, Sites(m, code))); err != nil {
		t.Fatal(err)
	}
	// Block 1 of main is a loop of ten, block 1 of step did not run; the part of
	// leaf goes by leaf's name.
	want := `leaf:120:30
 0: 30
 1: 30
 2: 30
 3: 30
step:27:10
 0: 27 leaf:27
 1: 0
 2: 0
 3: 0
main:15:1
 0: 1
 1: 10 step:10
 2: 3 leaf:3
 3: 1
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}

func TestBolt(t *testing.T) {
	t.Parallel()
	m, code := small()
	symbols := []Symbol{{Name: "main", Addr: 0x1000}, {Name: "alias", Addr: 0x1000}, {Name: "step", Addr: 0x2000, File: "a.c", Ordinal: 2}, {Name: "leaf.part.0", Addr: 0x3000, File: "a.c", Ordinal: 1}}
	var b bytes.Buffer
	if err := fdata.WriteBranches(&b, Bolt(m, symbols, Sites(m, code))); err != nil {
		t.Fatal(err)
	}
	want := `1 main 14 1 step/2 0 0 10
1 main 24 1 leaf.part.0/1 0 0 3
1 step/2 4 1 leaf.part.0/1 0 0 27
0 [unknown] 0 1 main 0 0 1
`
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
	b.Reset()
	if err := fdata.WriteSamples(&b, "e", BoltBlocks(m, symbols, Sites(m, code))); err != nil {
		t.Fatal(err)
	}
	want = "no_lbr e:\n1 main 0 1\n1 main f 1\n1 main 10 10\n1 main 1f 10\n1 main 20 1\n1 main 3f 1\n" +
		"1 step/2 0 10\n1 step/2 f 10\n1 leaf.part.0/1 0 30\n1 leaf.part.0/1 3f 30\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", &b, want)
	}
}

// TestBoltEntries checks that static functions of another build are distinguished by their
// files.
func TestBoltEntries(t *testing.T) {
	t.Parallel()
	m, _ := small()
	symbols := []Symbol{
		{Name: "main", Addr: 0x9000},
		{Name: "step", Addr: 0x9100, File: "b.c", Ordinal: 1},
		{Name: "step", Addr: 0x9200, File: "a.c", Ordinal: 2},
	}
	got, missing := BoltEntries(m, symbols)
	want := []fdata.Branch{{To: fdata.Place{Symbol: "main"}, Count: 1}, {To: fdata.Place{Symbol: "step/2"}, Count: 10}}
	if !slices.Equal(got, want) || missing != 1 {
		t.Errorf("%+v, %d missing, want %+v, 1", got, missing, want)
	}
}

func TestPprof(t *testing.T) {
	t.Parallel()
	m, code := small()
	m.Counts[2].Calls = math.MaxUint64
	p := Pprof(m, line16{}, Sites(m, code), "calls", strings.ToUpper)
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := p.Write(&file); err != nil {
		t.Fatal(err)
	}
	read, err := profile.Parse(&file)
	if err != nil {
		t.Fatal(err)
	}
	text := read.String()
	for _, want := range []string{"calls/count", "LEAF a.c:100:0 s=100", "MAIN a.c:101:0 s=100", "10: 1 2"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	var sum int64
	for _, s := range p.Sample {
		if sum += s.Value[0]; sum < 0 {
			t.Fatal("the total overflows")
		}
	}
	if p := Pprof(&prof.Module{}, nil, nil, "calls", nil); p.CheckValid() != nil || len(p.Sample) != 0 {
		t.Errorf("of nothing: %v", p)
	}
}

func TestApportion(t *testing.T) {
	t.Parallel()
	const most = math.MaxUint64
	for _, test := range []struct {
		total   uint64
		weights []uint64
		want    []uint64
	}{
		{10, []uint64{1}, []uint64{10}},
		{10, []uint64{1, 1, 1}, []uint64{4, 3, 3}},
		{1, []uint64{5, 5}, []uint64{1, 0}},
		{100, []uint64{3, 1, 0}, []uint64{60, 20, 20}},
		{most, []uint64{most, most}, []uint64{most/2 + 1, most / 2}},
	} {
		if got := apportion(test.total, test.weights); !slices.Equal(got, test.want) {
			t.Errorf("%d by %d: %d, want %d", test.total, test.weights, got, test.want)
		}
	}
}

func TestOrderfile(t *testing.T) {
	t.Parallel()
	names := []string{"main", "gone", "f"}
	if got := Orderfile(names, nil); !slices.Equal(got, names) {
		t.Errorf("without a binary: %q", got)
	}
	got := Orderfile(names, []Symbol{{Name: "f", Addr: 1}, {Name: "g", Addr: 1}, {Name: "main", Addr: 2}, {Name: startAnchor, Addr: 3}, {Name: endAnchor, Addr: 4}})
	if want := []string{startAnchor, "main", "f", "g", endAnchor}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// indirect matches an indirect call in the output of objdump -d.
var indirect = regexp.MustCompile(`(?m)^ +([0-9a-f]+):\t(?:[0-9a-f]{2} )+ *\tcall +\*`)

// TestCallBefore checks that the call before a return address is found for every call that
// objdump finds.
func TestCallBefore(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"gcc", "objdump"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	src, bin := filepath.Join(dir, "a.s"), filepath.Join(dir, "a.so")
	var asm strings.Builder
	asm.WriteString(".text\n.globl f\n.type f,@function\nf:\n")
	for _, reg := range strings.Fields("rax rcx rdx rbx rsp rbp rsi rdi r8 r9 r10 r11 r12 r13 r14 r15") {
		asm.WriteString("call *%" + reg + "\ncall *(%" + reg + ")\ncall *8(%" + reg + ")\ncall *800(%" + reg + ")\n")
		if reg != "rsp" {
			asm.WriteString("call *(%rax,%" + reg + ",8)\ncall *8(%r13,%" + reg + ",8)\ncall *800(%rbp,%" + reg + ",8)\ncall *80(,%" + reg + ",8)\n")
		}
	}
	asm.WriteString("call *g(%rip)\ncall *80\ncall g\nret\n.size f,.-f\n.type g,@function\ng:\nret\n")
	if err := os.WriteFile(src, []byte(asm.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("gcc", "-shared", "-nostdlib", "-o", bin, src).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	f, err := objfile.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	code, err := f.Code()
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("objdump", "-d", "--wide", "--disassemble=f", bin).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^ +([0-9a-f]+):`).FindAllSubmatch(out, -1)
	next := map[uint64]uint64{}
	for i := range lines[1:] {
		next[number(t, lines[i][1])] = number(t, lines[i+1][1])
	}
	found := indirect.FindAllSubmatch(out, -1)
	if len(found) < 100 {
		t.Fatalf("objdump finds %d calls:\n%s", len(found), out)
	}
	for _, m := range found {
		at := number(t, m[1])
		if got := callBefore(code, next[at]); got.addr != at || !got.indirect {
			t.Errorf("before %#x: %+v, want an indirect call at %#x", next[at], got, at)
		}
	}
}

func number(t *testing.T, hex []byte) uint64 {
	t.Helper()
	n, err := strconv.ParseUint(string(hex), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
