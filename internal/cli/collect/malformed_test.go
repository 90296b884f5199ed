package collect

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/format/mippack"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/format/tracelog/tracelogtest"
	"github.com/cairnprof/cairn/internal/fleet/fleettest"
	"github.com/cairnprof/cairn/internal/shorttest"
)

// malformed makes uploads that are damaged.
type malformed struct {
	rng    *rand.Rand
	bodies []upload
}

// upload is a body as it is sent.
type upload struct {
	encoding string
	data     []byte
}

// newMalformed returns damaged uploads of each kind of file, of a program that sends no others.
func newMalformed(t *testing.T) *malformed {
	t.Helper()
	p := fleettest.NewProgram("damaged", "\xde\xad", 60)
	log := tracelogtest.New(tracelog.Header{PID: 1, Realtime: 1e18, Monotonic: 1, TSCHz: 1e9})
	log.Module(&tracelog.Module{Number: 1, Bias: 0x500000, Start: 0x500000, End: 0x600000, BuildID: []byte(p.BuildID), Path: "/opt/damaged", Main: true, Instrumented: true})
	log.Episode(&tracelog.Episode{
		TID: 1, Number: 1, Time: 1e9, Peak: tracelog.Interval{Lo: 5e6, Hi: 6e6}, Threshold: 1e6, Found: 1,
		Stack: []tracelog.Entry{{PC: 0x501014, Time: tracelog.Interval{Lo: 5e6, Hi: 6e6}}},
	})
	log.Close()
	pack, err := mippack.Pack([]mippack.File{{Name: "a.mipraw", Data: p.Run(t, 1)}, {Name: "b.mipraw", Data: p.Run(t, 2)}})
	if err != nil {
		t.Fatal(err)
	}
	many, err := bundle.Append(nil, []bundle.File{{Name: "run", Data: p.Run(t, 3)}, {Name: "log", Data: log.Bytes()}, {Name: "pack", Data: pack}})
	if err != nil {
		t.Fatal(err)
	}
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	m := &malformed{rng: rand.New(rand.NewPCG(5, 6))}
	for _, data := range [][]byte{p.Run(t, 4), p.MapFile(t), log.Bytes(), pack, many} {
		m.bodies = append(m.bodies, upload{"", data}, upload{"zstd", z.EncodeAll(data, nil)})
	}
	return m
}

// next returns another upload: with changed bytes, without its end, with bytes added, of random bytes, or
// with an encoding that it does not have.
func (m *malformed) next() upload {
	u := m.bodies[m.rng.IntN(len(m.bodies))]
	u.data = bytes.Clone(u.data)
	switch m.rng.IntN(8) {
	case 0:
		u.data = u.data[:m.rng.IntN(len(u.data))]
	case 1:
		u.data = append(u.data, u.data[:m.rng.IntN(len(u.data))]...)
	case 2:
		for i := range u.data {
			u.data[i] = byte(m.rng.Uint32())
		}
	case 3:
		u.encoding = []string{"gzip", "zstd", "br", ""}[m.rng.IntN(4)]
	default:
		for range 1 + m.rng.IntN(4) {
			u.data[m.rng.IntN(len(u.data))] ^= byte(1 + m.rng.IntN(255))
		}
	}
	return u
}

// send sends an upload and returns the status of the response.
func (u *upload) send(url string) (int, error) {
	r, err := http.NewRequest(http.MethodPost, url+"/v1/files", bytes.NewReader(u.data))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Encoding", u.encoding)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

// sendMalformed sends damaged uploads, and a run after each tenth, and checks the responses.
func sendMalformed(t *testing.T, n int, url func(i int) string, valid func()) {
	t.Helper()
	m, statuses := newMalformed(t), map[int]int{}
	for i := range n {
		u := m.next()
		status, err := u.send(url(i))
		if err != nil {
			t.Fatalf("upload %d: %v", i, err)
		}
		if statuses[status]++; status >= 500 {
			t.Fatalf("upload %d: status %d", i, status)
		}
		if i%10 == 0 {
			valid()
		}
	}
	if statuses[http.StatusBadRequest] < n/10 || statuses[http.StatusUnsupportedMediaType] == 0 {
		t.Errorf("hardly any upload was refused: %v", statuses)
	}
	t.Logf("responses by status: %v", statuses)
}

func malformedCount() int {
	if testing.Short() {
		return 200
	}
	return 10_000
}

// TestMalformed sends damaged uploads to a collector. It checks that none ends the collector,
// and that the profile of a program that sends valid uploads at the same time has its runs.
func TestMalformed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := start(t, dir)
	program, raws := fleettest.NewProgram("app", "\x01\x02\x03\x04", 60), map[string][]byte{}
	if err := send(p.url, program.MapFile(t)); err != nil {
		t.Fatal(err)
	}
	sendMalformed(t, malformedCount(), func(int) string { return p.url }, func() {
		run := uint64(len(raws) + 1)
		raws[fmt.Sprint(run)] = program.Run(t, run)
		if err := send(p.url, raws[fmt.Sprint(run)]); err != nil {
			t.Fatal(err)
		}
	})
	want := fleettest.Merged(t, []*fleettest.Program{program}, raws)
	for range 2 { // by this process, and by the next from its directory
		if got := get(t, p.url+"/app"); !bytes.Equal(got, want) {
			t.Errorf("the profile is not that of the %d runs, but has %d", len(raws), runsOf(t, got))
		}
		if err := p.end(9); err == nil {
			t.Fatalf("the collector ended by itself: %s", &p.talk)
		}
		p = start(t, dir)
	}
}

// TestStoreMalformed sends damaged uploads in turn to collectors that share an object store.
func TestStoreMalformed(t *testing.T) {
	shorttest.Proof(t)
	t.Parallel()
	c := startTrio(t, "--snapshot", "100ms")
	f, l := c.begin(4)
	sendMalformed(t, malformedCount(), func(i int) string { return c.url(i % 3) }, func() { l.files <- f.run(t) })
	c.finish(f, l)
}
