package tally

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/internal/fleet/inbox"
)

func keyOf(n int) (k inbox.Key) {
	sum := sha256.Sum256(binary.LittleEndian.AppendUint64(nil, uint64(n)))
	copy(k[:], sum[:])
	return k
}

// ranges is memory that can be read in parts.
type ranges struct{ memory }

func (r ranges) ReadAt(name string, p []byte, off int64) error {
	data, err := r.Get(name)
	if err != nil || int(off)+len(p) > len(data) {
		return errors.Join(err, errors.New("behind the end"))
	}
	copy(p, data[off:])
	return nil
}

// TestKeySet compares a set of keys with a map, with and without filters, over snapshots and restarts.
func TestKeySet(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		var objects Objects = memory{}
		if rapid.Bool().Draw(rt, "in parts") {
			objects = ranges{memory{}}
		}
		most := rapid.SampledFrom([]int64{0, 100, 1 << 20}).Draw(rt, "filters")
		s, want := newKeySet(objects, most), map[int]bool{}
		check := func(n int) {
			if got, err := s.has(keyOf(n)); got != want[n] || err != nil {
				rt.Fatalf("key %d: %v %v, want %v", n, got, err, want[n])
			}
		}
		for range rapid.IntRange(1, 12).Draw(rt, "snapshots") {
			for range rapid.IntRange(0, 700).Draw(rt, "keys") {
				n := rapid.IntRange(0, 3000).Draw(rt, "key")
				switch {
				case !want[n]:
					s.add(keyOf(n))
					want[n] = true
				case n%7 == 0:
					s.remove(keyOf(n))
					delete(want, n)
				}
				check(n)
			}
			if err := s.store(); err != nil {
				rt.Fatal(err)
			}
			if rapid.Bool().Draw(rt, "restart") {
				layers := s.layers
				s = newKeySet(objects, most)
				for _, l := range layers {
					if err := s.restore(keyLayer{Parts: l.Parts, Gone: l.Gone}, func(err error) error { return err }); err != nil {
						rt.Fatal(err)
					}
				}
			}
		}
		for n := range 3100 {
			check(n)
		}
		if got := len(s.layers); got > 12 {
			rt.Errorf("%d layers", got)
		}
	})
}
