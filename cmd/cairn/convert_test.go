package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
	"pgregory.net/rapid"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/folded"
	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xray/xraytest"
	"github.com/cairnprof/cairn/internal/calls/account"
	"github.com/cairnprof/cairn/internal/calls/calltrie"
	"github.com/cairnprof/cairn/internal/verb"
)

// drawLog draws a log of two threads with what real logs have: calls without an
// exit and exits without a call, tail exits, arguments, events.
func drawLog(t *rapid.T) []byte {
	b := xraytest.New(rapid.SampledFrom([]xraytest.Format{{FDR: true, Version: 5}, {Version: 3}}).Draw(t, "format"))
	b.Hz = rapid.SampledFrom([]uint64{1e9, 2_600_000_000, 999}).Draw(t, "rate")
	b.WallHz, b.BufferSize = b.Hz, 256
	for tid := range uint32(2) {
		th := b.Thread(7+tid, 70+tid)
		now := uint64(1795176873250907427)
		for range rapid.IntRange(0, 40).Draw(t, "events") {
			now += rapid.Uint64Max(5).Draw(t, "ticks")
			fn := calllog.FuncID(rapid.IntRange(1, 3).Draw(t, "function"))
			switch rapid.IntRange(0, 8).Draw(t, "kind") {
			case 0, 1, 2:
				th.Enter(fn, now)
			case 3, 4, 5:
				th.Exit(fn, now)
			case 6:
				th.TailExit(fn, now)
			case 7:
				th.EnterArgs(fn, now, now)
			case 8:
				th.Custom(now, []byte("event"))
			}
		}
	}
	return b.Bytes()
}

// converted is what cairn convert makes of a log.
func converted(t *rapid.T, log string, args ...string) []byte {
	var out, talk bytes.Buffer
	args = append([]string{"cairn", "convert", log}, args...)
	if code := execute(context.Background(), args, verb.Streams{In: strings.NewReader(""), Out: &out, Err: &talk}); code != 0 {
		t.Fatalf("%v: %s", args, talk.String())
	}
	return out.Bytes()
}

// timeline is calls as viewers see them.
type timeline struct {
	calls []string // "process thread function start duration", as they end
	open  []uint64
	names []string
}

func (l *timeline) begin(name string, at uint64) {
	l.open, l.names = append(l.open, at), append(l.names, name)
}

func (l *timeline) end(who string, at uint64) {
	n := len(l.open) - 1
	l.calls = append(l.calls, fmt.Sprintf("%s %s %d %d", who, l.names[n], l.open[n], at-l.open[n]))
	l.open, l.names = l.open[:n], l.names[:n]
}

func readChrome(t *rapid.T, data []byte) []string {
	var doc struct {
		TraceEvents []struct {
			Ph, Name string
			PID, TID int
			TS       json.Number
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	var l timeline
	for _, e := range doc.TraceEvents {
		at, _ := strconv.ParseUint(strings.Replace(e.TS.String(), ".", "", 1), 10, 64)
		switch e.Ph {
		case "B":
			l.begin(e.Name, at)
		case "E":
			l.end(fmt.Sprint(e.PID, " ", e.TID), at)
		}
	}
	return l.calls
}

func readSpeedscope(t *rapid.T, data []byte) []string {
	var doc struct {
		Shared   struct{ Frames []struct{ Name string } }
		Profiles []struct {
			Name   string
			Events []struct {
				Type  string
				Frame int
				At    uint64
			}
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	var l timeline
	for _, p := range doc.Profiles {
		tid, _ := strconv.Atoi(strings.Fields(p.Name + " ?")[1])
		for _, e := range p.Events {
			if e.Type == "O" {
				l.begin(doc.Shared.Frames[e.Frame].Name, e.At)
			} else {
				l.end(fmt.Sprint(tid-70+7, " ", tid), e.At)
			}
		}
	}
	return l.calls
}

// protoField is a field of a message that has numbers and messages only.
type protoField struct {
	number, value uint64
	data          []byte
}

// protoFields decodes a message of protocol buffers.
func protoFields(m []byte) (list []protoField) {
	for len(m) > 0 {
		key, k := binary.Uvarint(m)
		n, v := binary.Uvarint(m[k:])
		m = m[k+v:]
		f := protoField{number: key >> 3, value: n}
		if key&7 == 2 {
			f.data, m = m[:n], m[n:]
		}
		list = append(list, f)
	}
	return list
}

// protoPath returns the last field at a path of field numbers, and the data of all.
func protoPath(m []byte, path ...uint64) (n uint64, data []byte) {
	for _, f := range protoFields(m) {
		if f.number == path[0] {
			if n, data = f.value, f.data; len(path) > 1 {
				n, data = protoPath(f.data, path[1:]...)
			}
		}
	}
	return n, data
}

func readPerfetto(start uint64, data []byte) []string {
	type sequence struct {
		timeline
		now   uint64
		names map[uint64]string
		who   string
	}
	var all []string
	seqs := map[uint64]*sequence{}
	who := ""
	for _, packet := range protoFields(data) {
		p := packet.data
		if pid, thread := protoPath(p, 60, 4, 1); pid > 0 || thread != nil {
			tid, _ := protoPath(p, 60, 4, 2)
			who = fmt.Sprint(pid, " ", tid)
			continue
		}
		id, _ := protoPath(p, 10)
		if flags, _ := protoPath(p, 13); flags == 1 {
			now, _ := protoPath(p, 6, 1, 2)
			seqs[id] = &sequence{now: now - start, names: map[uint64]string{}, who: who}
			continue
		}
		s := seqs[id]
		if s == nil {
			continue // the track of a process
		}
		delta, _ := protoPath(p, 8)
		s.now += delta
		if _, name := protoPath(p, 12, 2, 2); name != nil {
			iid, _ := protoPath(p, 12, 2, 1)
			s.names[iid] = string(name)
		}
		switch kind, _ := protoPath(p, 11, 9); kind {
		case 1:
			iid, _ := protoPath(p, 11, 10)
			s.begin(s.names[iid], s.now)
		case 2:
			s.calls = s.calls[:0]
			s.end(s.who, s.now)
			all = append(all, s.calls...)
		}
	}
	return all
}

// readFolded reads stacks and their values.
func readFolded(t *rapid.T, data []byte) []string {
	var list []string
	for line := range strings.Lines(string(data)) {
		stack, n, err := folded.Parse(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, fmt.Sprint(stack, n))
	}
	return list
}

// TestConvertExact checks that every output of single calls has each call of a log, with the
// start and the duration that accounting gives, and that the other outputs have the sums.
func TestConvertExact(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		data := drawLog(t)
		path := filepath.Join(dir, "log")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		log, err := xray.Open(bytes.NewReader(data), int64(len(data)), path)
		if err != nil {
			t.Fatal(err)
		}
		clock := log.Info().Clock
		start := clock.Nanoseconds(clock.Start)
		var names calllog.Funcs
		var want []string
		for i, th := range log.Threads() {
			for c, err := range account.Calls(context.Background(), log, i, account.Options{}) {
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, fmt.Sprintf("%d %d %s %d %d", th.PID, th.TID, names.Name(c.Func), c.Start-start, c.Duration))
			}
		}
		for format, got := range map[string][]string{
			"chrome":     readChrome(t, converted(t, path, "--format", "chrome")),
			"speedscope": readSpeedscope(t, converted(t, path, "--format", "speedscope")),
			"perfetto":   readPerfetto(start, converted(t, path, "--format", "perfetto")),
		} {
			if !slices.Equal(got, want) {
				t.Fatalf("%s has\n%s\nwant\n%s", format, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		checkSums(t, log, path)
	})
}

// readFirefox sums the weights of the samples of all threads by stack, in nanoseconds.
func readFirefox(t *rapid.T, data []byte) map[string]uint64 {
	var doc struct {
		Threads []struct {
			Samples struct {
				Stack  []*int
				Weight []float64
			}
			StackTable struct {
				Prefix []*int
				Frame  []int
			}
			FrameTable struct{ Func []int }
			FuncTable  struct{ Name []int }
		}
		Shared struct{ StringArray []string }
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	sums := map[string]uint64{}
	for _, th := range doc.Threads {
		for i, s := range th.Samples.Stack {
			var stack []string
			for ; s != nil; s = th.StackTable.Prefix[*s] {
				stack = append(stack, doc.Shared.StringArray[th.FuncTable.Name[th.FrameTable.Func[th.StackTable.Frame[*s]]]])
			}
			slices.Reverse(stack)
			if w := uint64(math.Round(th.Samples.Weight[i] * 1e6)); w > 0 && stack != nil {
				sums[fmt.Sprint(stack)] += w
			}
		}
	}
	return sums
}

// selfsOf returns the time of each stack that has some.
func selfsOf(trie *calltrie.Trie, names calllog.Funcs) map[string]uint64 {
	sums := map[string]uint64{}
	for id, n := range trie.Nodes() {
		var stack []string
		for _, fn := range trie.Stack(id) {
			stack = append(stack, names.Name(fn))
		}
		if n.Self > 0 {
			sums[fmt.Sprint(stack)] += n.Self
		}
	}
	return sums
}

func checkSums(t *rapid.T, log calllog.Log, path string) {
	r, err := account.Run(context.Background(), log, account.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names calllog.Funcs
	trie := r.Merged()
	var calls, selfs, both []string
	for id, n := range trie.Nodes() {
		var stack []string
		for _, fn := range trie.Stack(id) {
			stack = append(stack, names.Name(fn))
		}
		both = append(both, fmt.Sprint(stack, n.Calls, n.Self))
		calls = append(calls, sumText(stack, n, func(n *calltrie.Node) uint64 { return n.Calls })...)
		selfs = append(selfs, sumText(stack, n, func(n *calltrie.Node) uint64 { return n.Self })...)
	}
	if got := readFolded(t, converted(t, path, "--format", "folded", "--by", "calls")); !slices.Equal(got, calls) {
		t.Fatalf("folded has calls\n%q\nwant\n%q", got, calls)
	}
	if got := readFolded(t, converted(t, path, "--format", "folded")); !slices.Equal(got, selfs) {
		t.Fatalf("folded has times\n%q\nwant\n%q", got, selfs)
	}
	if got := readFirefox(t, converted(t, path, "--format", "firefox")); !maps.Equal(got, selfsOf(trie, names)) {
		t.Fatalf("firefox has times\n%v\nwant\n%v", got, selfsOf(trie, names))
	}
	p, err := profile.ParseData(converted(t, path, "--format", "pprof"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Sample {
		var stack []string
		for _, loc := range s.Location {
			stack = append(stack, loc.Line[0].Function.Name)
		}
		slices.Reverse(stack)
		got = append(got, fmt.Sprint(stack, s.Value[0], s.Value[1]))
	}
	if !slices.Equal(got, both) {
		t.Fatalf("pprof has\n%q\nwant\n%q", got, both)
	}
}

func sumText(stack []string, n *calltrie.Node, value func(*calltrie.Node) uint64) []string {
	if value(n) == 0 {
		return nil
	}
	return []string{fmt.Sprint(stack, value(n))}
}
