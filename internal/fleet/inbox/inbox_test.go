package inbox

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mippack"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
)

var large = Limits{Files: 100, File: 1 << 20, Total: 1 << 22}

func pack(t testing.TB, files ...[]byte) []byte {
	t.Helper()
	var list []mippack.File
	for i, data := range files {
		list = append(list, mippack.File{Name: string(rune('a' + i)), Data: data})
	}
	data, err := mippack.Pack(list)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func bundled(t testing.TB, files ...[]byte) []byte {
	t.Helper()
	var list []bundle.File
	for i, data := range files {
		list = append(list, bundle.File{Name: string(rune('a' + i)), Data: data})
	}
	data, err := bundle.Append(nil, list)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestOpen checks that the same files are found in every form, with the same keys.
func TestOpen(t *testing.T) {
	t.Parallel()
	p := fleettest.NewProgram("app", "id", 40)
	one, two, m := p.Run(t, 1), p.Run(t, 2), p.MapFile(t)
	for name, test := range map[string]struct {
		body []byte
		want [][]byte
	}{
		"raw file":             {one, [][]byte{one}},
		"map":                  {m, [][]byte{m}},
		"pack":                 {pack(t, one, two), [][]byte{one, two}},
		"bundle":               {bundled(t, m, one, two), [][]byte{m, one, two}},
		"bundle with packs":    {bundled(t, pack(t, one), m, pack(t, two)), [][]byte{one, m, two}},
		"bundle without files": {bundled(t), nil},
	} {
		items, refused, err := Open(test.body, large)
		if err != nil || len(refused) > 0 || len(items) != len(test.want) {
			t.Errorf("%s: %d items, %v, %v", name, len(items), refused, err)
			continue
		}
		for i, it := range items {
			alone, _, err := Open(test.want[i], large)
			if err != nil || it.Key != alone[0].Key || it.Kind != alone[0].Kind || it.Index != i || !bytes.Equal(it.Data, test.want[i]) || it.Build != "id" {
				t.Errorf("%s: item %d is another: %v", name, i, err)
			}
		}
	}
}

// TestKey checks that a run has the same key in all of its files, and that the key of an
// unknown run is made of its content.
func TestKey(t *testing.T) {
	t.Parallel()
	key := func(r mip.Raw) Key {
		data, err := mip.AppendRaw(nil, r)
		if err != nil {
			t.Fatal(err)
		}
		items, _, err := Open(data, large)
		if err != nil {
			t.Fatal(err)
		}
		return items[0].Key
	}
	first := mip.Raw{BuildID: "id", PID: 3, Run: 7, Size: 4, Data: []byte{1}}
	later, child, other, unknown, unknown2 := first, first, first, first, first
	later.Data = []byte{1, 1}
	child.PID = 4
	other.BuildID = "ie"
	unknown.Run, unknown2.Run, unknown2.Data = 0, 0, later.Data
	if key(first) != key(later) {
		t.Error("two files of a run have two keys")
	}
	seen := map[Key]bool{}
	for _, r := range []mip.Raw{first, child, other, unknown, unknown2} {
		seen[key(r)] = true
	}
	if len(seen) != 5 {
		t.Errorf("five files have %d keys", len(seen))
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	p := fleettest.NewProgram("app", "id", 40)
	good := p.Run(t, 1)
	bad := bytes.Clone(good)
	bad[len(bad)-1] ^= 1
	for _, body := range [][]byte{bundled(t, bad, []byte("text"), good), bundled(t, pack(t, bad, []byte("text")), good)} {
		items, refused, err := Open(body, large)
		if err != nil || len(items) != 1 || items[0].Index != 2 || len(refused) != 2 || refused[0].Index != 0 || refused[1].Index != 1 {
			t.Errorf("%d items, %+v, %v", len(items), refused, err)
		}
	}
	if _, _, err := Open([]byte("text"), large); !errors.Is(err, ErrKind) {
		t.Errorf("a text: %v", err)
	}
	if _, _, err := Open(bad, large); err == nil {
		t.Error("a damaged raw file alone is taken")
	}
	if _, _, err := Open(bundled(t, bundled(t, good)), large); err != nil {
		t.Error(err) // refused, not opened
	}
	truncated := bundled(t, good)
	if items, _, err := Open(truncated[:len(truncated)-1], large); err == nil || items != nil {
		t.Errorf("of a truncated bundle %d items are taken, %v", len(items), err)
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	p := fleettest.NewProgram("app", "id", 40)
	one, two := p.Run(t, 1), p.Run(t, 2)
	size := int64(max(len(one), len(two)))
	for name, body := range map[string][]byte{
		"bundle": bundled(t, one, two), "pack": pack(t, one, two), "packs": bundled(t, pack(t, one), pack(t, two)),
	} {
		if _, _, err := Open(body, Limits{Files: 2, File: 1 << 20, Total: 2 * 1 << 20}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, _, err := Open(body, Limits{Files: 1, File: 1 << 20, Total: 1 << 20}); err == nil {
			t.Errorf("%s: two files are taken where one is allowed", name)
		}
		if _, _, err := Open(body, Limits{Files: 2, File: size, Total: 20}); err == nil {
			t.Errorf("%s: more bytes are taken than allowed", name)
		}
	}
	if _, _, err := Open(one, Limits{Files: 1, File: 10, Total: 10}); !errors.Is(err, bundle.ErrLimit) {
		t.Errorf("a raw file that is too long: %v", err)
	}
	packs := make([][]byte, maxPacks+1)
	for i := range packs {
		packs[i] = pack(t, one)
	}
	if _, _, err := Open(bundled(t, packs...), large); !errors.Is(err, bundle.ErrLimit) {
		t.Errorf("many packs: %v", err)
	}
}

// FuzzOpen checks that a bundle of the items of a body has the same items.
func FuzzOpen(f *testing.F) {
	p := fleettest.NewProgram("app", "id", 10)
	f.Add(bundled(f, p.MapFile(f), p.Run(f, 1), pack(f, p.Run(f, 2))))
	f.Add(p.Run(f, 3))
	f.Add(pack(f, p.Run(f, 4), p.Run(f, 5)))
	f.Fuzz(func(t *testing.T, body []byte) {
		limits := Limits{Files: 8, File: 1 << 16, Total: 1 << 18}
		items, refused, err := Open(body, limits)
		if err != nil {
			return
		}
		if len(items)+len(refused) > limits.Files {
			t.Fatalf("%d items, %d refused", len(items), len(refused))
		}
		again, err := Bundle(items)
		if err != nil {
			t.Fatal(err)
		}
		same, refused, err := Open(again, Limits{Files: 8, File: 1 << 18, Total: 1 << 18})
		if err != nil || len(refused) > 0 || len(same) != len(items) {
			t.Fatalf("%d of %d items again, %v, %v", len(same), len(items), refused, err)
		}
		for i := range items {
			if same[i].Key != items[i].Key || same[i].Name != items[i].Name || !bytes.Equal(same[i].Data, items[i].Data) {
				t.Fatalf("item %d is another", i)
			}
		}
	})
}

// TestMutants checks that bodies with changed bytes give an error or other items, and not more
// of them.
func TestMutants(t *testing.T) {
	t.Parallel()
	n := 20_000
	if testing.Short() {
		n = 2000
	}
	p := fleettest.NewProgram("app", "id", 40)
	bodies := [][]byte{p.Run(t, 1), p.MapFile(t), pack(t, p.Run(t, 1), p.Run(t, 2)), bundled(t, p.MapFile(t), p.Run(t, 1), pack(t, p.Run(t, 3)))}
	rng := rand.New(rand.NewPCG(1, 2))
	taken := 0
	for range n {
		body := bytes.Clone(bodies[rng.IntN(len(bodies))])
		for range 1 + rng.IntN(3) {
			body[rng.IntN(len(body))] = byte(rng.Uint32())
		}
		body = body[:len(body)-rng.IntN(2)*rng.IntN(len(body))]
		if items, _, err := Open(body, large); err == nil {
			taken += len(items)
		}
	}
	t.Logf("%d items in %d mutants", taken, n)
}
