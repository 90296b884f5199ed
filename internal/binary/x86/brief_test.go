package x86

import (
	"math/rand/v2"
	"testing"
)

// compareScan holds what Scan knows against Decode.
func compareScan(t testing.TB, code []byte) (known bool) {
	t.Helper()
	b, ok := Scan(code)
	if !ok {
		return false
	}
	i, err := Decode(code)
	want := Brief{i.Len, i.Class, i.RestoresFrame(), i.Rel}
	if err != nil || b != want {
		t.Fatalf("% x: %+v, want %+v, %v", code[:MaxLen], b, want, err)
	}
	return true
}

// TestScan compares with Decode: all beginnings of three bytes (one in 29 if time is short), with something behind them.
func TestScan(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	code := make([]byte, MaxLen+1)
	known := 0
	step := 1
	if testing.Short() {
		step = 29
	}
	for i := 0; i < 1<<24; i += step {
		code[0], code[1], code[2] = byte(i), byte(i>>8), byte(i>>16)
		if i%64 == 0 {
			for j := 3; j < len(code); j++ {
				code[j] = byte(r.Uint32())
			}
		}
		if compareScan(t, code) {
			known++
		}
	}
	if known == 0 {
		t.Error("Scan declined all")
	}
}

// TestScanOwn wants Scan to know most instructions of a program, this one.
func TestScanOwn(t *testing.T) {
	t.Parallel()
	code := ownCode(t)
	known, all := 0, 0
	for at := 0; at+MaxLen < len(code); {
		if compareScan(t, code[at:]) {
			known++
		}
		all++
		i, err := Decode(code[at:])
		at += max(1, int(i.Len))
		if err != nil {
			continue
		}
	}
	if known*100 < all*90 {
		t.Errorf("%d of %d instructions", known, all)
	}
}

func BenchmarkScan(b *testing.B) {
	code := ownCode(b)
	b.SetBytes(int64(len(code)))
	for b.Loop() {
		for at := 0; at < len(code); {
			if s, ok := Scan(code[at:]); ok {
				at += int(s.Len)
				continue
			}
			i, _ := Decode(code[at:])
			at += max(1, int(i.Len))
		}
	}
}
