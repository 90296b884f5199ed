package x86

import (
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/controlflow"
)

func code(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestDecode has instructions that other decoders got wrong, with the position of each part.
// All of the given bytes are one instruction.
func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes, text string
		want        Inst // but Len, and what the opcode says
	}{
		{"f3 0f 1e fa", "endbr64", Inst{Class: controlflow.Landing}},
		{"c5 f8 77", "vzeroupper", Inst{}},
		{"c5 fc 77", "vzeroall", Inst{}},
		{"66 0f 38 f6 c8", "adcx", Inst{}},
		{"66 66 48 e8 01 00 00 00", "data16 data16 rex.W call: access to thread-local memory", Inst{
			Class: controlflow.Call, ImmOff: 4, ImmSize: 4, Rel: 1,
		}},
		{"67 e8 fe ff ff ff", "addr32 call: a relaxed call through the GOT", Inst{
			Class: controlflow.Call, ImmOff: 2, ImmSize: 4, Rel: -2,
		}},
		{"f2 e9 00 01 00 00", "bnd jmp", Inst{Class: controlflow.Jump, ImmOff: 2, ImmSize: 4, Rel: 256}},
		{"3e ff e0", "notrack jmp *%rax", Inst{Class: controlflow.IndirectJump}},
		{"41 ff d3", "call *%r11", Inst{Class: controlflow.IndirectCall}},
		{"ff 25 10 00 00 00", "jmp *16(%rip)", Inst{
			Class: controlflow.IndirectJump, RIP: true, DispOff: 2, DispSize: 4, Disp: 16,
		}},
		{"eb fe", "jmp .", Inst{Class: controlflow.Jump, ImmOff: 1, ImmSize: 1, Rel: -2}},
		{"74 7f", "je", Inst{Class: controlflow.Conditional, ImmOff: 1, ImmSize: 1, Rel: 127}},
		{"0f 84 00 00 00 80", "je", Inst{Class: controlflow.Conditional, ImmOff: 2, ImmSize: 4, Rel: -1 << 31}},
		{"e3 05", "jrcxz", Inst{Class: controlflow.Conditional, ImmOff: 1, ImmSize: 1, Rel: 5}},
		{"c7 f8 04 00 00 00", "xbegin", Inst{Class: controlflow.Conditional, ImmOff: 2, ImmSize: 4, Rel: 4}},
		{"c6 f8 ff", "xabort", Inst{ImmOff: 2, ImmSize: 1}},
		{"c2 08 00", "ret $8", Inst{Class: controlflow.Return, ImmOff: 1, ImmSize: 2}},
		{"f3 c3", "repz ret", Inst{Class: controlflow.Return}},
		{"0f 0b", "ud2", Inst{Class: controlflow.Trap}},
		{"0f b9 40 08", "ud1 8(%rax),%eax", Inst{Class: controlflow.Trap, DispOff: 3, DispSize: 1, Disp: 8}},
		{"0f 05", "syscall", Inst{Class: controlflow.Syscall}},
		{"cd 80", "int $0x80", Inst{Class: controlflow.Syscall, ImmOff: 1, ImmSize: 1}},
		{"66 90", "xchg %ax,%ax", Inst{Class: controlflow.Nop}},
		{"f3 90", "pause", Inst{}},
		{"41 90", "xchg %eax,%r8d", Inst{}},
		{"66 2e 0f 1f 84 00 00 02 00 00", "cs nopw 512(%rax,%rax,1)", Inst{
			Class: controlflow.Nop, DispOff: 6, DispSize: 4, Disp: 512,
		}},
		{"48 8d 3d f9 ff ff ff", "lea -7(%rip),%rdi", Inst{RIP: true, DispOff: 3, DispSize: 4, Disp: -7}},
		{"c7 05 02 00 00 00 01 00 00 00", "movl $1,2(%rip)", Inst{
			RIP: true, DispOff: 2, DispSize: 4, Disp: 2, ImmOff: 6, ImmSize: 4,
		}},
		{"8b 04 25 10 00 00 00", "mov 0x10,%eax", Inst{DispOff: 3, DispSize: 4, Disp: 16}},
		{"48 b8 01 02 03 04 05 06 07 08", "movabs $,%rax", Inst{ImmOff: 2, ImmSize: 8}},
		{"66 b8 01 02", "mov $,%ax", Inst{ImmOff: 2, ImmSize: 2}},
		{"66 48 b8 01 02 03 04 05 06 07 08", "movabs, 66 without effect", Inst{ImmOff: 3, ImmSize: 8}},
		{"a1 01 02 03 04 05 06 07 08", "movabs 0x,%eax", Inst{DispOff: 1, DispSize: 8}},
		{"67 a1 01 02 03 04", "addr32 mov 0x,%eax", Inst{DispOff: 2, DispSize: 4}},
		{"66 81 c0 01 02", "add $,%ax", Inst{ImmOff: 3, ImmSize: 2}},
		{"66 48 81 c0 01 02 03 04", "add $,%rax", Inst{ImmOff: 4, ImmSize: 4}},
		{"f6 c1 01", "test $1,%cl", Inst{ImmOff: 2, ImmSize: 1}},
		{"f7 d9", "neg %ecx", Inst{}},
		{"66 f7 c1 01 00", "test $1,%cx", Inst{ImmOff: 3, ImmSize: 2}},
		{"c8 10 00 01", "enter", Inst{ImmOff: 1, ImmSize: 3}},
		{"0f 22 1c", "mov to a control register: there is no SIB", Inst{}},
		{"66 0f 78 c1 02 03", "extrq", Inst{ImmOff: 4, ImmSize: 2}},
		{"0f 0f c1 9e", "pfadd", Inst{ImmOff: 3, ImmSize: 1}},
		{"8f e8 78 c0 c1 05", "vprotb, XOP", Inst{ImmOff: 5, ImmSize: 1}},
		{"8f ea 78 10 c1 01 02 03 04", "bextr, XOP", Inst{ImmOff: 5, ImmSize: 4}},
		{"8f 40 10", "pop 16(%rax)", Inst{DispOff: 2, DispSize: 1, Disp: 16}},
		{"62 f1 7c 48 28 05 40 00 00 00", "vmovaps 64(%rip),%zmm0", Inst{
			RIP: true, DispOff: 6, DispSize: 4, Disp: 64,
		}},
		{"62 f3 75 48 25 40 01 ff", "vpternlogd $0xff,64(%rax),%zmm1,%zmm0", Inst{
			DispOff: 6, DispSize: 1, Disp: 1, ImmOff: 7, ImmSize: 1,
		}},
		{"c4 e3 75 4a 05 08 00 00 00 20", "vblendvps 8(%rip)", Inst{
			RIP: true, DispOff: 5, DispSize: 4, Disp: 8, ImmOff: 9, ImmSize: 1,
		}},
	} {
		b := code(t, c.bytes)
		i, err := Decode(append(b, 0x90, 0x90))
		if err != nil {
			t.Errorf("%s (%s): %v", c.bytes, c.text, err)
			continue
		}
		got := Inst{
			Class: i.Class, RIP: i.RIP, Disp: i.Disp, Rel: i.Rel,
			DispOff: i.DispOff, DispSize: i.DispSize, ImmOff: i.ImmOff, ImmSize: i.ImmSize,
		}
		if got != c.want || int(i.Len) != len(b) {
			t.Errorf("%s (%s): %d bytes %+v\nwant %d bytes %+v", c.bytes, c.text, i.Len, got, len(b), c.want)
		}
		if _, err := Decode(b[:len(b)-1]); !errors.Is(err, ErrTruncated) {
			t.Errorf("%s (%s), cut off: %v", c.bytes, c.text, err)
		}
	}
}

// TestErrors has what is documented as unknown.
func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bytes, text string
		want        error
	}{
		{"", "nothing", ErrTruncated},
		{"48", "REX alone", ErrTruncated},
		{"48 66 90", "REX before another prefix", ErrUnknown},
		{"66 e8 00 00 00 00", "16-bit call of AMD", ErrUnknown},
		{"66 c7 f8 00 00 00 00", "16-bit xbegin", ErrUnknown},
		{"06", "push %es", ErrUnknown},
		{"d5 00 89 c0", "REX2 of APX", ErrUnknown},
		{"62 f4 7c 08 00 c0", "EVEX map 4 of APX", ErrUnknown},
		{"66 c5 f8 77", "VEX behind 66", ErrUnknown},
		{"0f ff c0", "ud0", ErrUnknown},
		{"0f b8 00 00 00 00", "jmpe", ErrUnknown},
		{"0f 38 ff c0", "no such opcode", ErrUnknown},
		{"c4 e7 7b f8 c0 00 00 00 00", "VEX map 7", ErrUnknown},
		{strings.Repeat("66", 15) + "90", "16 bytes", ErrTooLong},
	} {
		if i, err := Decode(code(t, c.bytes)); !errors.Is(err, c.want) || i != (Inst{}) {
			t.Errorf("%s (%s): %+v, %v, want %v", c.bytes, c.text, i, err, c.want)
		}
	}
}

func TestTarget(t *testing.T) {
	t.Parallel()
	i, _ := Decode(code(t, "e8 fb ff ff ff"))
	if got := i.Target(0x1000); got != 0x1000 {
		t.Errorf("call to itself: %#x", got)
	}
	i, _ = Decode(code(t, "48 8b 05 00 01 00 00"))
	if got := i.Memory(0x1000); got != 0x1107 {
		t.Errorf("memory: %#x", got)
	}
}

// FuzzDecode checks relations between the parts of an instruction.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"f30f1efa", "62f17c482805", "8fe878c0c105", "c5f877", "66480f843162", "67a101020304"} {
		f.Add(code(f, seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		i, err := Decode(b)
		if err != nil {
			if i != (Inst{}) {
				t.Fatalf("% x: %+v, %v", b, i, err)
			}
			return
		}
		n := int(i.Len)
		if n == 0 || n > MaxLen || n > len(b) ||
			int(i.DispOff+i.DispSize) > n || i.ImmSize > 0 && int(i.ImmOff+i.ImmSize) != n ||
			i.RIP && i.DispSize != 4 {
			t.Fatalf("% x: %+v", b, i)
		}
		if again, err := Decode(b[:n]); err != nil || again != i {
			t.Fatalf("% x: %+v, but with nothing behind %+v, %v", b, i, again, err)
		}
		if _, err := Decode(b[:n-1]); !errors.Is(err, ErrTruncated) {
			t.Fatalf("% x, cut off: %v", b[:n-1], err)
		}
	})
}

// BenchmarkDecode reads the start of this program's own code.
func BenchmarkDecode(b *testing.B) {
	text := ownCode(b)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		for pos := 0; pos < len(text)-MaxLen; {
			i, err := Decode(text[pos:])
			if err != nil {
				i.Len = 1
			}
			pos += int(i.Len)
			n++
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds()/1e6, "Minst/s")
}

// ownCode returns the start of this program's own code.
func ownCode(t testing.TB) []byte {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	return text[0x1000:0x41000]
}
