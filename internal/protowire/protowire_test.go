package protowire

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	theirs "google.golang.org/protobuf/encoding/protowire"
)

// FuzzConsume reads bytes as Google's module does.
func FuzzConsume(f *testing.F) {
	f.Add([]byte{0x08, 0x96, 0x01})
	f.Add([]byte("\x12\x07testing"))
	f.Add([]byte{0x0b, 0x10, 0x01, 0x1b, 0x1c, 0x0c})             // a group in a group
	f.Add([]byte{0x0b, 0x14})                                     // that another field ends
	f.Add(bytes.Repeat([]byte{0x0b}, 20000))                      // too many
	f.Add(bytes.Repeat([]byte{0xff}, 12))                         // more than 64 bits
	f.Add([]byte{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80}) // cut off
	f.Add([]byte{0x0d, 1, 2, 3, 4, 0x11, 1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte{0x00, 0x07, 0x0e, 0xf8, 0xff, 0xff, 0xff, 0x7f, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		for {
			field, kind, n := ConsumeTag(b)
			itsField, itsKind, m := theirs.ConsumeTag(b)
			if n > 0 != (m > 0) || n > 0 && (n != m || int32(field) != int32(itsField) || int8(kind) != int8(itsKind)) {
				t.Fatalf("% x: the tag %d, %d of %d bytes, want %d, %d of %d", b, field, kind, n, itsField, itsKind, m)
			}
			if n < 0 {
				return
			}
			b = b[n:]
			v, n := ConsumeVarint(b)
			w, m := theirs.ConsumeVarint(b)
			if v != w || n > 0 != (m > 0) || n > 0 && n != m {
				t.Fatalf("% x: the number %d of %d bytes, want %d of %d", b, v, n, w, m)
			}
			x, n := ConsumeBytes(b)
			y, m := theirs.ConsumeBytes(b)
			if !bytes.Equal(x, y) || n > 0 != (m > 0) || n > 0 && n != m {
				t.Fatalf("% x: %d bytes of %d, want %d of %d", b, len(x), n, len(y), m)
			}
			n, m = ConsumeFieldValue(field, kind, b), theirs.ConsumeFieldValue(itsField, itsKind, b)
			if n >= 0 != (m >= 0) || n >= 0 && n != m {
				t.Fatalf("% x: a value of %d bytes, want %d", b, n, m)
			}
			if n < 0 {
				return
			}
			b = b[n:]
		}
	})
}

// TestAppend writes what Google's module does.
func TestAppend(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var ours, their []byte
	for range 1000 {
		field, kind, v := Number(1+r.IntN(1<<29)), Type(r.IntN(6)), r.Uint64()>>r.IntN(64)
		text := bytes.Repeat([]byte("x"), r.IntN(300))
		ours = AppendString(AppendBytes(AppendFixed64(AppendVarint(AppendTag(ours, field, kind), v), v), text), string(text))
		their = theirs.AppendFixed64(theirs.AppendVarint(theirs.AppendTag(their, theirs.Number(field), theirs.Type(kind)), v), v)
		their = theirs.AppendString(theirs.AppendBytes(their, text), string(text))
	}
	if ours = AppendVarint(ours, math.MaxUint64); !bytes.Equal(ours, theirs.AppendVarint(their, math.MaxUint64)) {
		t.Error("not as Google's module writes it")
	}
}
