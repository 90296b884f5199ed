package xray

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/calllog"
)

// stackRecord is a record of a profile.
type stackRecord struct {
	ids         []uint32 // the innermost first
	calls, self uint64
}

// profileBlock returns a block as the runtime writes it.
func profileBlock(number uint32, thread uint64, records ...stackRecord) []byte {
	le := binary.LittleEndian
	var data []byte
	for _, r := range records {
		for _, id := range append(slices.Clone(r.ids), 0) {
			data = le.AppendUint32(data, id)
		}
		data = le.AppendUint64(le.AppendUint64(data, r.calls), r.self)
	}
	head := le.AppendUint32(nil, uint32(blockHead+len(data)))
	head = le.AppendUint64(le.AppendUint32(head, number), thread)
	return append(head, data...)
}

// profileFile returns a profile of process 77.
func profileFile(blocks ...[]byte) []byte {
	le := binary.LittleEndian
	head := le.AppendUint64(le.AppendUint64(nil, profileMagic), profileVersion)
	head = le.AppendUint64(le.AppendUint64(head, 1_700_000_000_000_000_000), 77)
	return append(head, slices.Concat(blocks...)...)
}

func openProfile(data []byte) (*Profile, error) {
	return OpenProfile(bytes.NewReader(data), int64(len(data)), "p")
}

// write returns the threads and nodes of a profile.
func (p *Profile) write() string {
	var b strings.Builder
	for i, t := range p.threads {
		fmt.Fprintf(&b, "%d/%d:", t.PID, t.TID)
		for _, n := range p.nodes[i] {
			fmt.Fprintf(&b, " %d<%d %d %d;", n.Func, n.Parent, n.Calls, n.Total)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestProfile(t *testing.T) {
	t.Parallel()
	p, err := openProfile(profileFile(
		profileBlock(0, 5, stackRecord{[]uint32{1}, 1, 10}, stackRecord{[]uint32{2, 1}, 3, 20}, stackRecord{[]uint32{2, 2, 1}, 1, 5}),
		profileBlock(1, 6, stackRecord{[]uint32{2, 1}, 1, 7}), // of 1 there is no record
		profileBlock(2, 5, stackRecord{[]uint32{2, 1}, 2, 100}),
	))
	if err != nil {
		t.Fatal(err)
	}
	want := "77/5: 1<-1 1 135; 2<0 5 125; 2<1 1 5;\n77/6: 1<-1 0 7; 2<0 1 7;\n"
	if got := p.write(); got != want || len(p.info.Damage) > 0 {
		t.Errorf("%swant\n%s%v", got, want, p.info.Damage)
	}
	if times, longest := p.Has(); !times || longest || p.info.Clock.Hz != 0 {
		t.Errorf("times %v, longest %v, %d Hz", times, longest, p.info.Clock.Hz)
	}
	for _, err := range p.Batches(0, 0, 1) {
		if err == nil {
			t.Error("a profile has events")
		}
	}
}

// TestDamagedProfile checks that damage costs only what follows it in its block.
func TestDamagedProfile(t *testing.T) {
	t.Parallel()
	good := profileBlock(1, 6, stackRecord{[]uint32{2, 1}, 1, 7})
	whole := profileBlock(0, 5, stackRecord{[]uint32{1}, 1, 10}, stackRecord{[]uint32{2, 1}, 3, 20})
	for _, tc := range []struct {
		name string
		data []byte
		want string // the nodes of all threads
		what string // the damage
	}{
		{"a stack without functions", profileFile(profileBlock(0, 5, stackRecord{[]uint32{1}, 1, 10}, stackRecord{nil, 1, 1}), good), "77/5: 1<-1 1 10;\n77/6: 1<-1 0 7; 2<0 1 7;\n", "without functions"},
		{"counters", profileFile(profileBlock(0, 5, stackRecord{[]uint32{1}, 1 << 61, 10}), good), "77/5:\n77/6: 1<-1 0 7; 2<0 1 7;\n", "counters that cannot be"},
		{"the end is cut off", profileFile(good, whole[:len(whole)-4]), "77/6: 1<-1 0 7; 2<0 1 7;\n77/5: 1<-1 1 10;\n", "is cut off"},
		{"a head is cut off", profileFile(good, whole[:7]), "77/6: 1<-1 0 7; 2<0 1 7;\n", "the head of a block"},
		{"a block of no size", profileFile(good, make([]byte, 16)), "77/6: 1<-1 0 7; 2<0 1 7;\n", "a block of 0 bytes"},
		{"no end of a stack", profileFile(append(profileBlock(0, 5)[:0:0], func() []byte {
			b := profileBlock(0, 5)
			binary.LittleEndian.PutUint32(b, blockHead+8)
			return append(b, 1, 0, 0, 0, 2, 0, 0, 0)
		}()...), good), "77/5:\n77/6: 1<-1 0 7; 2<0 1 7;\n", "a stack without an end"},
	} {
		p, err := openProfile(tc.data)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		if got := p.write(); got != tc.want {
			t.Errorf("%s:\n%swant\n%s", tc.name, got, tc.want)
		}
		if !slices.ContainsFunc(p.info.Damage, func(d *calllog.Damage) bool { return strings.Contains(d.What, tc.what) }) {
			t.Errorf("%s: damage %v", tc.name, p.info.Damage)
		}
	}
	for _, data := range [][]byte{nil, profileFile()[:20], append(profileFile()[:8], make([]byte, 24)...)} {
		if _, err := openProfile(data); err == nil {
			t.Errorf("% x is a profile", data)
		}
	}
}

func FuzzProfile(f *testing.F) {
	f.Add(profileFile(profileBlock(0, 5, stackRecord{[]uint32{1}, 1, 10}, stackRecord{[]uint32{2, 1}, 3, 20})))
	f.Add(profileFile(profileBlock(0, 5, stackRecord{[]uint32{3, 2, 1}, 1, 10})[:30]))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := openProfile(data)
		if err != nil {
			return
		}
		for i := range p.threads {
			for k, n := range p.nodes[i] {
				if n.Parent >= k || n.Parent < -1 {
					t.Fatalf("node %d has parent %d", k, n.Parent)
				}
			}
		}
	})
}
