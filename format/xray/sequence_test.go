package xray_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/xray/xraytest"
)

// TestSequence checks that every record that a block must not have is skipped, and that the
// records around it are kept.
func TestSequence(t *testing.T) {
	t.Parallel()
	le := binary.LittleEndian
	tests := []struct {
		name  string
		raw   func(b *xraytest.Builder) []byte
		what  string
		kept  int // of 8 events
		bytes int64
	}{
		{"unknown kind", func(b *xraytest.Builder) []byte { return b.Metadata(10, nil) }, "no kind of record", 8, 16},
		{"wall time", func(b *xraytest.Builder) []byte { return b.Metadata(4, nil) }, "unexpected position", 8, 16},
		{"process", func(b *xraytest.Builder) []byte { return b.Metadata(9, nil) }, "unexpected position", 8, 16},
		{"end of buffer", func(b *xraytest.Builder) []byte { return b.Metadata(1, nil) }, "end of block", 4, 16 + 32},
		{"new buffer", func(b *xraytest.Builder) []byte { return b.Metadata(0, nil) }, "inside a block", 4, 16 + 32},
		{"extents", func(b *xraytest.Builder) []byte { return b.Metadata(7, nil) }, "inside a block", 4, 16 + 32},
		{"argument of an exit", func(b *xraytest.Builder) []byte { return b.Metadata(6, nil) }, "follows no call", 8, 16},
		{"negative size", func(b *xraytest.Builder) []byte { return b.Metadata(5, le.AppendUint32(nil, 1<<31)) }, "impossible size", 8, 16},
		{"size beyond the block", func(b *xraytest.Builder) []byte { return b.Metadata(5, le.AppendUint32(nil, 1000)) }, "impossible size", 8, 16},
		{"kind of call", func(*xraytest.Builder) []byte { return []byte{0x1e, 0, 0, 0, 1, 0, 0, 0} }, "no kind of call", 8, 8},
		{"function 0", func(*xraytest.Builder) []byte { return []byte{2, 0, 0, 0, 1, 0, 0, 0} }, "number 0", 8, 8},
		{"zeros", func(*xraytest.Builder) []byte { return make([]byte, 48) }, "zeros", 8, 48},
	}
	for _, test := range tests {
		b := xraytest.New(fdr5)
		th := b.Thread(1, 1)
		calls(th, 1, 1000, 2)
		th.Raw(test.raw(b))
		calls(th, 2, 1040, 2)
		th.Flush()
		got, damage := read(t, open(t, b.Bytes()))
		if n := totalEvents(got); n != test.kept {
			t.Errorf("%s: %d events, want %d", test.name, n, test.kept)
		}
		const at = 32 + 5*16 + 4*8
		if len(damage) != 1 || damage[0].Offset != at || damage[0].Size != test.bytes || !strings.Contains(damage[0].What, test.what) {
			t.Errorf("%s: damage %v", test.name, damage)
		}
	}
}

// TestResync checks that records out of step are skipped up to the next one with the time.
func TestResync(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		if !b.Format.FDR {
			t.Skip("of FDR logs")
		}
		th := b.Thread(1, 1)
		calls(th, 1, 1000, 10)
		th.Raw(bytes.Repeat([]byte{0xff, 0x8e, 0x1e}, 7))
		calls(th, 2, 1300, 5) // not in step with its beginning
		th.CPU(3)
		calls(th, 3, 2000, 10)
		got, damage := read(t, open(t, b.Bytes()))
		n := totalEvents(got)
		last := got[0].events[n-1]
		if n < 40 || last.Time != 2000+9*20+10 || last.Func != 3 || len(damage) == 0 {
			t.Errorf("%d events, the last %+v, damage %v", n, last, damage)
		}
	})
}

func TestCallsBeforeTheTime(t *testing.T) {
	t.Parallel()
	b := xraytest.New(fdr5)
	le := binary.LittleEndian
	call := []byte{0x10, 0, 0, 0, 5, 0, 0, 0}
	block := slices.Concat(
		b.Metadata(0, le.AppendUint32(nil, 5)), b.Metadata(4, make([]byte, 12)), b.Metadata(9, le.AppendUint32(nil, 6)),
		call, call, b.Metadata(3, le.AppendUint64(nil, 700)), call,
	)
	b.Raw(slices.Concat(b.Metadata(7, le.AppendUint64(nil, uint64(len(block)))), block))
	got, damage := read(t, open(t, b.Bytes()))
	if len(got) != 1 || got[0].pid != 6 || got[0].tid != 5 || len(got[0].events) != 1 || got[0].events[0].Time != 705 {
		t.Errorf("%+v", got)
	}
	if len(damage) != 1 || damage[0].Size != 16 {
		t.Errorf("damage %v", damage)
	}
}

// An argument makes a plain enter one with arguments.
func TestArgumentOfPlainEnter(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		if !b.Format.FDR {
			t.Skip("of FDR logs")
		}
		th := b.Thread(1, 1)
		th.Enter(1, 1000)
		o := binary.AppendByteOrder(binary.LittleEndian)
		if b.Format.Big {
			o = binary.BigEndian
		}
		th.Raw(b.Metadata(6, o.AppendUint64(nil, 42)))
		th.Exit(1, 1010)
		got, damage := read(t, open(t, b.Bytes()))
		if e := got[0].events; len(e) != 2 || e[0].Kind != calllog.EnterArgs || e[0].args != "[42]" || len(damage) != 0 {
			t.Errorf("%+v, %v", e, damage)
		}
	})
}

func TestNegativeDelta(t *testing.T) {
	t.Parallel()
	b := xraytest.New(fdr5)
	le := binary.LittleEndian
	th := b.Thread(1, 1)
	th.Enter(1, 1000)
	past := int32(-40)
	th.Raw(b.Metadata(5, le.AppendUint32(le.AppendUint32(nil, 1), uint32(past))))
	th.Raw([]byte("x"))
	th.Exit(1, 1010)
	got, _ := read(t, open(t, b.Bytes()))
	if e := got[0].events; len(e) != 3 || e[1].Time != 960 || e[2].Time != 970 {
		t.Errorf("%+v", e)
	}
}
