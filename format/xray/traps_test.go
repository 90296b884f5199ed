package xray_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xray/xraytest"
)

var (
	fdr5   = xraytest.Format{FDR: true, Version: 5}
	basic3 = xraytest.Format{Version: 3}
)

// calls writes n calls of function f.
func calls(t *xraytest.Thread, f calllog.FuncID, from uint64, n int) {
	for i := range uint64(n) {
		t.Enter(f, from+i*20)
		t.Exit(f, from+i*20+10)
	}
}

func hasNote(l *xray.Log, text string) bool {
	return slices.ContainsFunc(l.Info().Notes, func(n string) bool { return strings.Contains(n, text) })
}

// damages returns what is damaged, of the index and of the stream.
func damages(t *testing.T, l *xray.Log) []calllog.Damage {
	t.Helper()
	_, stream := read(t, l)
	var all []calllog.Damage
	for _, d := range slices.Concat(l.Info().Damage, stream) {
		all = append(all, *d)
	}
	return all
}

func totalEvents(threads []thread) (n int) {
	for _, t := range threads {
		n += len(t.events)
	}
	return n
}

func TestRingOrder(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		if !b.Format.FDR {
			t.Skip("basic logs have no ring")
		}
		b.BufferSize = 512
		// The ticks begin close to the end of a second, which LLVM's tool
		// sorts wrongly.
		th := b.Thread(7, 7)
		calls(th, 3, 6_999_998_000, 500)
		n := b.Blocks()
		order := make([]int, 0, n)
		for i := range n {
			order = append(order, (i+n/3)%n)
		}
		compare(t, open(t, b.Assemble(order...)), b.Memory())
		slices.Reverse(order)
		compare(t, open(t, b.Assemble(order...)), b.Memory())
	})
}

// TestDuplicateBlock checks that a duplicated block of a younger thread is read once, next to
// an older thread's unique one.
func TestDuplicateBlock(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		if !b.Format.FDR {
			t.Skip("of FDR logs")
		}
		calls(b.Thread(1, 1), 1, 1000, 3)
		calls(b.Thread(1, 2), 2, 2000, 3)
		b.Thread(1, 3).Custom(1000, []byte("equal preamble"))
		b.Blocks()
		l := open(t, b.Assemble(0, 1, 2, 1))
		compare(t, l, b.Memory())
		if l.Info().Duplicates != 1 || !hasNote(l, "duplicated") {
			t.Errorf("%d duplicates, notes %q", l.Info().Duplicates, l.Info().Notes)
		}
		n := 0
		for _, err := range l.Records() {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		if n < 4*3 {
			t.Errorf("%d records", n)
		}
	})
}

// TestEqualPreambles checks that blocks with equal preambles and different contents are all
// kept.
func TestEqualPreambles(t *testing.T) {
	t.Parallel()
	b := xraytest.New(fdr5)
	th := b.Thread(1, 1)
	for i := range calllog.FuncID(3) {
		th.Enter(1+i, 1000)
		th.Flush()
	}
	l := open(t, b.Assemble(0, 1, 2, 0, 2, 1, 1))
	got, _ := read(t, l)
	if totalEvents(got) != 3 || l.Info().Duplicates != 4 {
		t.Errorf("%d events, %d duplicates", totalEvents(got), l.Info().Duplicates)
	}
}

// TestClockStep checks blocks between which the clock went back: the wall clock determines
// their order.
func TestClockStep(t *testing.T) {
	t.Parallel()
	b := xraytest.New(fdr5)
	b.Hz = 0
	th := b.Thread(1, 1)
	calls(th, 1, 5_000_000, 10)
	th.Flush()
	b.WallHz = 1e6 // so that the wall clock goes on
	calls(th, 2, 4_000_000_000, 10)
	th.Flush()
	b.WallHz = 1e5
	calls(th, 3, 3_000_000_000, 10)
	l := open(t, b.Assemble(2, 0, 1))
	compare(t, l, b.Memory())
	if !hasNote(l, "went back") {
		t.Errorf("notes %q", l.Info().Notes)
	}
}

func TestTypedEventsCutBlocks(t *testing.T) {
	t.Parallel()
	for _, version := range []int{3, 4, 5} {
		b := xraytest.New(xraytest.Format{FDR: true, Version: version})
		b.TypedDefect = true
		th := b.Thread(1, 1)
		th.Enter(1, 1000)
		th.Typed(1010, 4, []byte("five!"))
		th.Exit(1, 1020)
		th.Enter(2, 1030)
		th.Typed(1040, 4, []byte("more than twenty-four bytes"))
		th.Exit(2, 1050) // this and half of the event are lost
		th.Flush()
		calls(th, 3, 2000, 1)
		got, damage := read(t, open(t, b.Bytes()))
		if n := totalEvents(got); n != 6 {
			t.Errorf("version %d: %d events", version, n)
		}
		if len(damage) != 1 || !strings.Contains(damage[0].What, "typed") {
			t.Errorf("version %d: damage %v", version, damage)
		}
	}
}

func TestProcesses(t *testing.T) {
	t.Parallel()
	b := xraytest.New(basic3)
	calls(b.Thread(2, 9), 1, 1000, 100)
	calls(b.Thread(1, 9), 2, 1005, 100)
	l := open(t, b.Bytes())
	compare(t, l, b.Memory())
	if th := l.Threads(); len(th) != 2 || th[0].PID != 1 || th[1].PID != 2 {
		t.Errorf("threads %+v", th)
	}
}

func TestSharedObjects(t *testing.T) {
	t.Parallel()
	f := calllog.MakeFuncID(18, 5)
	for _, test := range []struct {
		format xraytest.Format
		want   uint8
	}{{fdr5, 2}, {basic3, 18}} {
		b := xraytest.New(test.format)
		calls(b.Thread(1, 1), f, 1000, 3)
		l := open(t, b.Bytes())
		got, _ := read(t, l)
		if o := got[0].events[0].Func.Object(); o != test.want {
			t.Errorf("%v: object %d, want %d", test.format, o, test.want)
		}
		if hasNote(l, "4 of 8 bits") != test.format.FDR {
			t.Errorf("%v: notes %q", test.format, l.Info().Notes)
		}
	}
}

func TestHeaderOnly(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		l := open(t, b.Bytes())
		if len(l.Threads()) != 0 || len(l.Info().Damage) != 0 || !hasNote(l, "no calls") {
			t.Errorf("%+v", l.Info())
		}
		for range l.Records() {
			t.Error("a record")
		}
	})
}

func TestRefused(t *testing.T) {
	t.Parallel()
	head := func(f xraytest.Format) []byte { return xraytest.New(f).Bytes() }
	tests := []struct {
		data []byte
		want string
	}{
		{head(basic3)[:31], "it has 31 bytes, less than its header of 32"},
		{nil, "it has 0 bytes"},
		{head(xraytest.Format{Version: 4}), "XRay basic log, version 4: versions 1 to 3 can be read"},
		{head(xraytest.Format{Version: 6, FDR: true, Big: true}), "XRay FDR log, version 6, big-endian: versions 1 to 5"},
		{bytes.Repeat([]byte("\x7fELF"), 16), "not an XRay log: it begins with 7f 45 4c 46"},
	}
	for _, test := range tests {
		_, err := xray.Open(bytes.NewReader(test.data), int64(len(test.data)), "a.xray")
		if err == nil || !strings.HasPrefix(err.Error(), "a.xray: ") || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%v, want %q", err, test.want)
		}
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for _, f := range xraytest.Formats() {
		if !xray.Detect(xraytest.New(f).Bytes()) {
			t.Errorf("%v is not detected", f)
		}
	}
	for _, text := range []string{"", "\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00", "---\nheader:\n  version: 1\n", "\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
		if xray.Detect([]byte(text)) {
			t.Errorf("%q is detected", text)
		}
	}
}

// TestFiller checks version 1, which has blocks of one size with filler that LLVM's tool takes
// for records.
func TestFiller(t *testing.T) {
	t.Parallel()
	for _, filler := range []byte{0, 0xAA, 1, 0x0b} {
		b := xraytest.New(xraytest.Format{FDR: true, Version: 1})
		b.BufferSize = 1001
		calls(b.Thread(1, 1), 1, 1000, 300)
		data := b.Bytes()
		for off := 32; off < len(data); off += b.BufferSize {
			block := data[off : off+b.BufferSize]
			end := len(block)
			for block[end-1] == 0xAA {
				end--
			}
			for i := end; i < len(block); i++ {
				block[i] = filler
			}
		}
		compare(t, open(t, data), b.Memory())
		unused := append(slices.Clone(data), make([]byte, 2*b.BufferSize)...)
		compare(t, open(t, unused), b.Memory())
	}
}

func TestZeroTail(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		mixed(b, 20)
		for _, n := range []int{1, 7, 8, 16, 31, 32, 33, 4096, 70_001, 300_000} {
			compare(t, open(t, append(b.Bytes(), make([]byte, n)...)), b.Memory())
		}
	})
}

func TestGarbageBetweenBlocks(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		if !b.Format.FDR || b.Format.Version == 1 {
			t.Skip("of FDR logs from version 2 on")
		}
		for _, n := range []int{1, 15, 16, 100, 5000, 600_000} {
			b := xraytest.New(b.Format)
			th := b.Thread(1, 1)
			calls(th, 1, 1000, 10)
			th.Flush()
			at := len(b.Bytes())
			garbage := bytes.Repeat([]byte{0x0f, 1, 0x87, 9}, n)[:n]
			b.Raw(garbage)
			calls(th, 2, 5000, 10)
			l := open(t, b.Bytes())
			got, stream := read(t, l)
			compareThreads(t, got, b.Memory())
			d := l.Info().Damage
			if len(d) != 1 || len(stream) != 0 || d[0].Offset != int64(at) || d[0].Size != int64(n) {
				t.Errorf("%d bytes at %#x: damage %v, %v", n, at, d, stream)
			}
		}
	})
}

// TestForkedBuffers checks logs after a fork, in which both processes write what was buffered.
func TestForkedBuffers(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		if b.Format.FDR {
			t.Skip("of basic logs")
		}
		parent := b.Thread(10, 10)
		parent.Enter(1, 100)
		calls(parent, 2, 1000, 50)
		parent.EnterArgs(3, 3000, 77)
		parent.Flush()
		child := b.Thread(11, 11)
		calls(child, 4, 3100, 3)
		calls(parent, 5, 3200, 50)
		parent.Exit(1, 9000)
		b.Blocks() // 0: buffered by the parent; 1: the parent's rest; 2: the child
		for _, order := range [][]int{{0, 2, 0, 1}, {0, 1, 0, 2}, {0, 0, 1, 2}, {0, 0, 2, 0, 1, 0}} {
			l := open(t, b.Assemble(order...))
			compare(t, l, b.Memory())
			if want := len(order) - 3; l.Info().Duplicates != want || !hasNote(l, "forked") {
				t.Errorf("%v: %d duplicates, want %d; notes %q", order, l.Info().Duplicates, want, l.Info().Notes)
			}
		}
	})
}

// A frozen clock makes equal records that are no duplicates.
func TestFrozenClock(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		one, two := b.Thread(1, 1), b.Thread(1, 2)
		for range 3000 {
			one.Enter(1, 50)
			two.Enter(1, 50)
		}
		compare(t, open(t, b.Bytes()), b.Memory())
	})
}

func TestClockRate(t *testing.T) {
	t.Parallel()
	const actual = 2_596_100_000
	tests := []struct {
		name        string
		hz, wall    uint64
		span        uint64
		want, claim uint64
	}{
		{"right", actual, actual, actual, actual, 0},
		{"within 1 %", 2_580_000_000, actual, actual, 2_580_000_000, 0},
		{"wrong", 2_400_000_000, actual, actual, actual, 2_400_000_000},
		{"too short", 2_400_000_000, actual, actual / 20, 2_400_000_000, 0},
		{"unknown", 0, actual, actual, actual, 0},
	}
	for _, test := range tests {
		b := xraytest.New(fdr5)
		b.Hz, b.WallHz = test.hz, test.wall
		th := b.Thread(1, 1)
		for i := range uint64(101) {
			calls(th, 1, 500_000_000_000+i*test.span/100, 1)
			th.Flush()
		}
		c := open(t, b.Bytes()).Info().Clock
		off := max(c.Hz, test.want) - min(c.Hz, test.want)
		if off > test.want/10_000 || c.Claimed != test.claim || c.Epoch || c.Start != 500_000_000_000 {
			t.Errorf("%s: %+v", test.name, c)
		}
	}
	b := xraytest.New(fdr5)
	calls(b.Thread(1, 1), 1, 1_795_176_873_250_907_427, 9)
	if c := open(t, b.Bytes()).Info().Clock; !c.Epoch || c.Hz != 1e9 || c.Start != 1_795_176_873_250_907_427 {
		t.Errorf("time of day: %+v", c)
	}
}

// TestClockOutlier checks that one block with a damaged wall-clock time does not invalidate the
// header.
func TestClockOutlier(t *testing.T) {
	t.Parallel()
	b := xraytest.New(fdr5)
	b.Hz = 1_000_000
	th := b.Thread(1, 1)
	for i := range uint64(20) {
		b.WallHz = 1_000_000
		if i == 7 {
			b.WallHz = 1
		}
		calls(th, 1, 1_000_000+i*1_000_000, 1)
		th.Flush()
	}
	if c := open(t, b.Bytes()).Info().Clock; c.Hz != 1_000_000 || c.Claimed != 0 {
		t.Errorf("%+v", c)
	}
}

// TestMuchDamage checks that the list of damage is limited.
func TestMuchDamage(t *testing.T) {
	t.Parallel()
	b := xraytest.New(basic3)
	th := b.Thread(1, 1)
	bad := bytes.Repeat([]byte{7}, 32)
	for i := range uint64(3000) {
		th.Enter(1, 1000+i)
		th.Raw(bad)
	}
	l := open(t, b.Bytes())
	d := l.Info().Damage
	last := d[len(d)-1]
	if len(d) != 1001 || last.Size != 2000*32 || !strings.Contains(last.What, "2000 more") {
		t.Errorf("%d damages, the last %v", len(d), last)
	}
	if got, _ := read(t, l); totalEvents(got) != 3000 {
		t.Errorf("%d events", totalEvents(got))
	}
}

func TestBasicArguments(t *testing.T) {
	t.Parallel()
	b := xraytest.New(basic3)
	one, two := b.Thread(1, 1), b.Thread(1, 2)
	one.EnterArgs(5, 1000, 9)
	data := b.Bytes()
	argument := slices.Clone(data[64:96])
	two.Enter(5, 1001)
	two.Raw(argument) // of another thread
	data = b.Bytes()
	d := damages(t, open(t, data))
	if len(d) != 1 || d[0].Offset != 32+3*32 || !strings.Contains(d[0].What, "argument") {
		t.Errorf("%v", d)
	}
	// The first record of a file crashes LLVM's tool.
	first := append(slices.Clone(data[:32]), argument...)
	if d := damages(t, open(t, first)); len(d) != 1 || d[0].Offset != 32 {
		t.Errorf("%v", d)
	}
}
