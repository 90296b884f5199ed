package mippack

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/prof"
)

const testID = prof.BuildID("\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14")

// orderRun is a run in mode order of n functions, in which those of order ran.
func orderRun(t testing.TB, pid uint32, n int, order []uint32) File {
	t.Helper()
	r := mip.Raw{BuildID: testID, PID: pid, Size: uint64(n), Data: make([]byte, n), Slots: uint32(n), Next: uint32(len(order)), Order: order}
	for _, f := range order {
		r.Data[f] = 1
	}
	return rawFile(t, fmt.Sprintf("app.%s.%d.0.mipraw", testID, pid), r)
}

func rawFile(t testing.TB, name string, r mip.Raw) File {
	t.Helper()
	data, err := mip.AppendRaw(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	return File{name, data}
}

// walk returns an order in which a function is mostly followed by the next one.
func walk(rng *rand.Rand, n, length int) []uint32 {
	seen := make([]bool, n)
	var order []uint32
	for at := 0; len(order) < length; {
		if rng.IntN(10) == 0 {
			at = rng.IntN(n)
		}
		if !seen[at] {
			seen[at] = true
			order = append(order, uint32(at))
		}
		at = (at + 1 + rng.IntN(3)) % n
	}
	return order
}

// packAndUnpack returns the size of the pack of files and checks that they come
// out of it as they were.
func packAndUnpack(t testing.TB, files ...File) int {
	t.Helper()
	packed, err := Pack(files)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Unpack(packed)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(got, files, func(a, b File) bool { return a.Name == b.Name && bytes.Equal(a.Data, b.Data) }) {
		t.Fatalf("%d files came out other than %d went in", len(got), len(files))
	}
	return len(packed)
}

func TestOrderRuns(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	order := walk(rng, 5000, 1000)
	first := packAndUnpack(t, orderRun(t, 7, 5000, order))
	if first > 1500 {
		t.Errorf("%d bytes for 1000 functions", first)
	}
	again := slices.Clone(order)
	again[500], again[501] = again[501], again[500]
	if both := packAndUnpack(t, orderRun(t, 7, 5000, order), orderRun(t, 8, 5000, again)); both-first > 120 {
		t.Errorf("%d bytes for a second run like the first of %d", both-first, first)
	}
	// What is like nothing may cost no more than a permutation does.
	var shuffled []uint32
	for _, i := range rng.Perm(1000) {
		shuffled = append(shuffled, uint32(i))
	}
	if size := packAndUnpack(t, orderRun(t, 7, 1000, shuffled)); size > 1300 { // log2(1000!)/8 is 1066
		t.Errorf("%d bytes for 1000 functions in no order", size)
	}
}

func TestKindsOfFiles(t *testing.T) {
	t.Parallel()
	packAndUnpack(t)
	good := mip.Raw{BuildID: testID, Size: 400, Scenario: "open a file", Slots: 16, Next: 3, Data: bytes.Repeat([]byte{1, 0, 1}, 100), Order: []uint32{0, 30, 9}}
	cut := good
	cut.Slots, cut.Next, cut.Order = 3, 10, []uint32{9, 3, 0}
	live := good
	live.Continuous = true
	counts := mip.Raw{BuildID: testID, PID: 1 << 31, Size: 4000}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		counts.Data = binary.LittleEndian.AppendUint32(counts.Data, -uint32(rng.IntN(1000)*rng.IntN(2)))
		counts.Data = binary.LittleEndian.AppendUint32(counts.Data, uint32(rng.IntN(100)))
	}
	elsewhere := good
	elsewhere.Order = []uint32{1, 2, 4} // of which only 2 is set
	forged := good
	forged.Order = []uint32{0, 0, 0}
	files := []File{
		rawFile(t, "good.mipraw", good),
		rawFile(t, "app."+testID.String()+".0.12.mipraw", good),
		rawFile(t, "app."+testID.String()+".0.012.mipraw", good),
		rawFile(t, "cut.mipraw", cut), rawFile(t, "live.mipraw", live), rawFile(t, "counts.mipraw", counts),
		rawFile(t, "elsewhere.mipraw", elsewhere), rawFile(t, "forged.mipraw", forged),
		{"empty", nil},
		{"text", []byte("no raw file at all\n")},
		{"byte", []byte{0xff}},
	}
	damaged := bytes.Clone(files[0].Data)
	damaged[len(damaged)-9] ^= 3
	files = append(files, File{"damaged", damaged}, File{"cut off", files[0].Data[:300]})
	for _, f := range files {
		packAndUnpack(t, f)
	}
	packAndUnpack(t, files...)
	slices.Reverse(files)
	packAndUnpack(t, files...)
}

// TestOddFlags packs images of Armv7 as small as those with ones, and tells older readers that they cannot read it.
func TestOddFlags(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 9))
	var ones, odd []File
	for pid := range uint32(3) {
		r := mip.Raw{BuildID: testID, PID: pid, Size: 5000, Data: make([]byte, 5000)}
		for _, f := range walk(rng, 5000, 1000) {
			r.Data[f] = 1
		}
		r.Continuous = pid == 2
		ones = append(ones, rawFile(t, fmt.Sprint(pid), r))
		r.Data = bytes.Clone(r.Data)
		for i := range r.Data {
			r.Data[i] *= wire.OddFlag(uint64(i))
		}
		odd = append(odd, rawFile(t, fmt.Sprint(pid), r))
	}
	if a, b := packAndUnpack(t, ones...), packAndUnpack(t, odd...); b > a+20 {
		t.Errorf("%d bytes for flags that are 1, %d for odd ones", a, b)
	}
	mixed, err := Pack([]File{ones[0], odd[1]})
	if err != nil || mixed[8] != versionOdd {
		t.Fatalf("version %d (%v), want %d", mixed[8], err, versionOdd)
	}
	mixed[8] = version
	if _, err := Unpack(mixed); err == nil {
		t.Error("a pack of version 2 with odd flags: unpacked")
	}
}

func TestPackRefuses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		want  string
		files []File
	}{
		{"cannot be the name", []File{{"a/b", nil}}},
		{"cannot be the name", []File{{"..", nil}}},
		{"cannot be the name", []File{{strings.Repeat("x", 256), nil}}},
		{"two files are called", []File{{"a", nil}, {"a", nil}}},
	} {
		if _, err := Pack(test.files); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("want %q: %v", test.want, err)
		}
	}
}

// resum sets the checksum and the length of a damaged pack, so that the rest is read.
func resum(pack []byte) []byte {
	pack = bytes.Clone(pack)
	if len(pack) >= headerSize {
		copy(pack, Magic)
		if pack[8] != versionOdd {
			pack[8] = version
		}
		pack[9] = 0
		binary.LittleEndian.PutUint32(pack[12:], crc32.ChecksumIEEE(pack[headerSize:]))
		binary.LittleEndian.PutUint64(pack[16:], uint64(len(pack)-headerSize))
	}
	return pack
}

func TestUnpackDamage(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	good, err := Pack([]File{orderRun(t, 1, 300, walk(rng, 300, 100)), orderRun(t, 2, 300, walk(rng, 300, 100)), {"x", []byte("text")}})
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1 << (i % 8)
		// The two bytes for later use are no part of any checksum.
		if _, err := Unpack(bad); err == nil && i != 10 && i != 11 {
			t.Errorf("byte %d changed: unpacked", i)
		}
		if _, err := Unpack(good[:i]); err == nil {
			t.Errorf("cut to %d bytes: unpacked", i)
		}
		Unpack(resum(bad)) // may be a good pack of something else
		Unpack(resum(good[:i]))
	}
	bad := bytes.Clone(good)
	bad[8] = versionOdd + 1
	if _, err := Unpack(bad); !errors.Is(err, ErrNewer) {
		t.Error(err)
	}
	if _, err := Unpack([]byte("CAIRNRAW")); !errors.Is(err, mip.ErrMagic) {
		t.Error(err)
	}
	// A small pack that claims much.
	bomb := append(make([]byte, headerSize), 0, 1, 0, 0x80, 0x80, 0x80, 0x80, 1, 1, 'x', 0, 0)
	if _, err := Unpack(resum(bomb)); err == nil {
		t.Error("unpacked a quarter of a gigabyte from nothing")
	}
}

func FuzzUnpack(f *testing.F) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, files := range [][]File{nil, {orderRun(f, 1, 60, walk(rng, 60, 20)), orderRun(f, 2, 60, walk(rng, 60, 30))}, {{"x", []byte("text")}}} {
		pack, err := Pack(files)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(pack)
	}
	odd, err := Pack([]File{{"x", []byte{0, 0, 1, 3, 3, 0, 5, 7, 9}}})
	if err != nil || odd[8] != versionOdd {
		f.Fatal(odd, err)
	}
	f.Add(odd)
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return
		}
		files, err := Unpack(resum(data))
		if err != nil {
			return
		}
		packAndUnpack(t, files...)
	})
}

func FuzzPack(f *testing.F) {
	f.Add([]byte("text"), []byte{1, 0, 1})
	f.Add(orderRun(f, 1, 60, []uint32{5, 2, 9}).Data, orderRun(f, 2, 60, []uint32{5, 2, 10}).Data)
	f.Fuzz(func(t *testing.T, a, b []byte) { packAndUnpack(t, File{"a", a}, File{"b", b}) })
}

func BenchmarkPack(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	file := orderRun(b, 7, 20000, walk(rng, 20000, 5000))
	for b.Loop() {
		if _, err := Pack([]File{file}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnpack(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	pack, err := Pack([]File{orderRun(b, 7, 20000, walk(rng, 20000, 5000))})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := Unpack(pack); err != nil {
			b.Fatal(err)
		}
	}
}

// TestManyZeros checks that the data with the best compression is not taken for a malicious
// pack.
func TestManyZeros(t *testing.T) {
	t.Parallel()
	for _, size := range []int{1 << 20, 1<<24 + 7} {
		if n := packAndUnpack(t, File{"zeros", make([]byte, size)}); n > 100+size/5000 {
			t.Errorf("%d bytes for %d zeros", n, size)
		}
	}
	order := make([]uint32, 1<<16)
	for i := range order {
		order[i] = uint32(i)
	}
	if n := packAndUnpack(t, orderRun(t, 1, len(order), order)); n > 700 {
		t.Errorf("%d bytes for functions in the order of their addresses", n)
	}
}
