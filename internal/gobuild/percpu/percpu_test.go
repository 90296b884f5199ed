package percpu

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/cairnprof/cairn/internal/gobuild/image"
	"github.com/cairnprof/cairn/internal/gobuild/rewrite"
)

// at returns an instruction: its first bytes, the distance to an address, and its last bytes.
func at(code uint64, first []byte, target uint64, last ...byte) []byte {
	end := code + uint64(len(first)+4+len(last))
	return append(binary.LittleEndian.AppendUint32(bytes.Clone(first), uint32(target-end)), last...)
}

// TestFunction changes single instructions.
func TestFunction(t *testing.T) {
	t.Parallel()
	const code, record = 0x401000, 0x500008
	ranges := []Range{{0x500000, 0x500018}, {0x500100, 0x500108}}
	for _, tc := range []struct {
		name   string
		symbol string
		code   []byte
		want   byte // the first byte afterwards; 0 for an error
	}{
		{"compare", "main.f", at(code, []byte{0x66, 0x83, 0x3d}, record, 0), 0x65},
		{"decrement", "main.f", at(code, []byte{0x48, 0xff, 0x0d}, record), 0x65},
		{"subtract two", "main.f", at(code, []byte{0x48, 0x83, 0x2d}, record, 2), 0x65},
		{"subtract a register", "main.f", at(code, []byte{0x48, 0x29, 0x05}, record), 0x65},
		{"increment the word", "main.f", at(code, []byte{0x48, 0xff, 0x05}, record+4), 0x65},
		{"another package", "main.f", at(code, []byte{0x48, 0xff, 0x0d}, 0x500100), 0x65},
		{"behind all", "main.f", at(code, []byte{0x48, 0xff, 0x0d}, 0x500108), 0x48},
		{"between", "main.f", at(code, []byte{0x48, 0xff, 0x0d}, 0x500020), 0x48},
		{"order word", "main.f", at(code, []byte{0x89, 0x0d}, record+4), 0x89},
		{"address", "main.f", at(code, []byte{0x48, 0x8d, 0x15}, record), 0x48},
		{"decrement the word", "main.f", at(code, []byte{0x48, 0xff, 0x0d}, record+4), 0},
		{"increment the count", "main.f", at(code, []byte{0x48, 0xff, 0x05}, record), 0},
		{"load", "main.f", at(code, []byte{0x48, 0x8b, 0x0d}, record), 0},
		{"high register", "main.f", at(code, []byte{0x4c, 0x29, 0x05}, record), 0},
		{"compare by index", "main." + rewrite.Counted, []byte{0x66, 0x83, 0x39, 0}, 0x65},
		{"increment by index", "main." + rewrite.CountedAlone, []byte{0x48, 0xff, 0x44, 0xca, 4}, 0x65},
		{"of another function", "main.f", []byte{0x66, 0x83, 0x39, 0}, 0x66},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c := changer{done: map[uint64]bool{}, from: ranges[0].From, to: ranges[1].To, ranges: ranges, prefix: byte(Own)}
			got := bytes.Clone(tc.code)
			err := c.function(image.Symbol{Name: tc.symbol, Addr: code, Size: uint64(len(got)), Func: true}, got)
			switch {
			case tc.want == 0 && !errors.Is(err, ErrForm):
				t.Errorf("% x: %v, want an error", got, err)
			case tc.want != 0 && (err != nil || got[0] != tc.want || !bytes.Equal(got[1:], tc.code[1:])):
				t.Errorf("% x: % x, %v", tc.code, got, err)
			}
		})
	}
}

// TestTwice changes a function once if it has two symbols.
func TestTwice(t *testing.T) {
	t.Parallel()
	const code, record = 0x401000, 0x500000
	c := changer{done: map[uint64]bool{}, from: record, to: record + 8, ranges: []Range{{record, record + 8}}, prefix: byte(Own)}
	text := append(at(code, []byte{0x66, 0x83, 0x3d}, record, 0), at(code+8, []byte{0x48, 0xff, 0x0d}, record)...)
	for _, name := range []string{"main.f", "main.init.0", "main.f"} {
		if err := c.function(image.Symbol{Name: name, Addr: code, Size: uint64(len(text)), Func: true}, text); err != nil {
			t.Fatal(err)
		}
	}
	if text[0] != 0x65 || text[8] != 0x65 {
		t.Errorf("% x", text)
	}
}

// TestUndecodable passes over code that cannot be decoded, unless it has what looks like a probe.
func TestUndecodable(t *testing.T) {
	t.Parallel()
	const code, record = 0x401000, 0x500000
	c := changer{done: map[uint64]bool{}, from: record, to: record + 8, ranges: []Range{{record, record + 8}}, prefix: byte(Own)}
	for _, first := range [][]byte{{0x48, 0xff, 0x0d}, {0x48, 0x8b, 0x0d}} {
		text := append([]byte{0x06}, at(code+1, first, record)...) // PUSH ES, which 64-bit mode has not
		err := c.function(image.Symbol{Name: "main.f", Addr: code, Size: uint64(len(text)), Func: true}, text)
		if looks := first[1] == 0xff; errors.Is(err, ErrForm) != looks {
			t.Errorf("% x: %v", text, err)
		}
	}
}
