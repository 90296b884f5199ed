package perfdata_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/armspe"
	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
	"github.com/cairnprof/cairn/sample"
)

const (
	spePMU    = 11
	speSample = pdt.Identifier | pdt.IP | pdt.TID | pdt.Time | pdt.Addr | pdt.CPU
)

// The timer of the trace has 25 MHz: a cycle is 40 ns.
const (
	speShift = 10
	speMult  = 40 << speShift
	speZero  = 1_000_000
)

// cycles returns when the timer shows a time of perf.
func cycles(time uint64) uint64 { return (time - speZero) / 40 }

// speOperation is a branch, a load or, every fifth, another operation.
func speOperation(i int, time uint64, context uint32) pdt.Operation {
	o := pdt.Operation{Address: 0x401000 + uint64(i)*4, Events: pdt.Retired, Context: context, Time: cycles(time)}
	switch i % 5 {
	case 0:
		o.Class = 0
	case 1:
		o.Class, o.Events = 1, o.Events|1<<2
	default:
		o.Class, o.Kind, o.Target = 2, byte(i%2), 0x402000+uint64(i)*8
		if i%2 == 1 {
			o.Events |= pdt.Mispredicted
		}
		if i%3 == 1 {
			o.Events |= pdt.NotTaken
			o.Target = o.Address + 4
		}
		if i%4 == 2 {
			o.Previous = 0x403000 + uint64(i)*4
		}
	}
	return o
}

// recordSPE makes a file whose traces are of two processors, in pieces that come late.
func recordSPE(t testing.TB, pipe, context bool) []byte {
	t.Helper()
	w := pdt.Writer{Pipe: pipe, Events: []pdt.Event{{Kind: spePMU, SampleType: speSample, ID: 77, Name: "arm_spe_0//u"}}, Command: []string{"perf", "record", "./prog"}}
	w.Tracing(spePMU, speShift, speMult, speZero)
	thread := func(n uint32) uint32 {
		if true {
			return n
		}
		return 0
	}
	at := func(n int) uint64 { return speZero + 1_000_000*uint64(n) }
	w.Comm(70, at(1), "prog", true)
	w.Map(70, at(1)+40, sample.Mapping{Start: 0x400000, Size: 0x10000, Path: "/bin/prog", Exec: true})
	w.Fork(80, 70, at(1)+80)
	w.ItraceStart(0, 70, 70, at(2))
	w.ItraceStart(1, 80, 80, at(2))
	w.Switch(0, 80, 80, at(20)) // the two change places
	w.Switch(1, 70, 70, at(20))
	w.Round()
	var first, second []byte
	for i := range 30 {
		on, other := thread(70), thread(80)
		if i >= 16 {
			on, other = other, on
		}
		first = speOperation(i, at(4+i)+200, on).Append(first)
		second = speOperation(100+i, at(4+i)+600, other).Append(second)
		if i%7 == 6 {
			second = append(second, 0, 0, 0) // padding
		}
	}
	half := bytes.Index(first, speOperation(12, at(16)+200, thread(70)).Append(nil))
	w.Trace(0, 0, -1, 0, first[:half])
	w.Trace(1, 1, -1, 0, second)
	w.Round()
	w.Trace(0, 0, -1, uint64(half), first[half:])
	w.Round()
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSPE reads branches of the Statistical Profiling Extension, and compares those that were not
// predicted, which are all that perf 6.1 prints, with perf's.
func TestSPE(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ pipe, context bool }{{}, {context: true}, {pipe: true}, {true, true}} {
		t.Run(fmt.Sprintf("%+v", tc), func(t *testing.T) {
			t.Parallel()
			data := recordSPE(t, tc.pipe, tc.context)
			p := open(t, data)
			if info := p.Info(); info.Kind != sample.Branches || info.Events[0] != "arm_spe_0//u" {
				t.Errorf("%+v", info)
			}
			got := all(t, p)
			for _, d := range p.Stats().Damage {
				t.Error(d)
			}
			var want strings.Builder
			want.WriteString("exec 70/70 0 \"prog\"\nmap 70/70 400000+10000@0 /bin/prog  true\nfork 80/80 70 \"\"\n")
			for i := range 30 {
				for k, n := range []int{i, 100 + i} {
					o := speOperation(n, speZero, 0)
					if o.Class != 2 {
						continue
					}
					pid := 70 + 10*k
					if i >= 16 {
						pid = 80 - 10*k
					}
					branches := fmt.Sprintf("{%x %x}", o.Address, o.Target)
					if o.Previous != 0 {
						branches += fmt.Sprintf(" {0 %x}", o.Previous)
					}
					fmt.Fprintf(&want, "%d/%d [] [%s] %b\n", pid, pid, branches, o.Events>>7&1)
				}
			}
			if got != want.String() {
				t.Errorf("got\n%s\nwant\n%s", got, want.String())
			}
			if !tc.pipe { // of a pipe, perf 6.1 reads no pieces that come late
				compareMispredicted(t, data, got)
			}
		})
	}
}

// mispredicted returns the samples whose branch was mispredicted: thread, address and target.
var mispredicted = regexp.MustCompile(`(?m)^(\d+)/(\d+) \[\] \[\{(\w+) (\w+)\}.*\] 1$`)

func compareMispredicted(t *testing.T, data []byte, got string) {
	t.Helper()
	text := perfScript(t, data, "--itrace=b", "-F", "pid,tid,ip,addr")
	if text == "" {
		return
	}
	var ours, theirs []string
	for _, m := range mispredicted.FindAllStringSubmatch(got, -1) {
		ours = append(ours, fmt.Sprintf("%s/%s %s %s", m[1], m[2], m[4], m[3]))
	}
	for line := range strings.Lines(text) {
		theirs = append(theirs, strings.Join(strings.Fields(line), " "))
	}
	if a, b := strings.Join(ours, "\n"), strings.Join(theirs, "\n"); a != b || a == "" {
		t.Errorf("got\n%s\nperf prints\n%s", a, b)
	}
}

// TestSPEPackets compares packets with those that perf prints, of a stream with everything in it.
func TestSPEPackets(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var stream []byte
	for len(stream) < 60_000 {
		head := byte(r.IntN(256))
		if head&^3 == 0x20 { // perf aligns by the address of its memory, so no packet here may align
			stream = append(stream, head, 0x98|byte(r.IntN(0x68)))
			continue
		}
		stream = append(stream, head)
		for range r.IntN(12) {
			stream = append(stream, 0x80|byte(r.IntN(128)))
		}
	}
	w := pdt.Writer{Events: []pdt.Event{{Kind: spePMU, SampleType: speSample, ID: 77, Name: "arm_spe_0//u"}}}
	w.Tracing(spePMU, speShift, speMult, speZero)
	w.Trace(0, 0, -1, 0, stream)
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	text := perfScript(t, out.Bytes(), "-D")
	if text == "" {
		t.Skip("perf is not installed")
	}
	_, text, _ = strings.Cut(text, "ARM SPE data")
	var theirs []string
	for _, m := range regexp.MustCompile(`(?m)^\.  ([0-9a-f]{8}): ((?: [0-9a-f]{2})+) +(\S.*)$`).FindAllStringSubmatch(text, -1) {
		if kind := perfKind(m[3]); kind != armspe.Pad {
			theirs = append(theirs, fmt.Sprintf("%s %d %d", m[1], len(m[2])/3, kind))
		}
	}
	var ours []string
	for at := 0; at < len(stream); {
		p, ok := armspe.Parse(stream[at:], uint64(at))
		if !ok {
			p = armspe.Packet{Size: 1} // which perf calls bad
		}
		if p.Kind != armspe.Pad {
			ours = append(ours, fmt.Sprintf("%08x %d %d", at, p.Size, p.Kind))
		}
		at += p.Size
	}
	if len(theirs) < 10_000 {
		t.Fatalf("perf prints %d packets", len(theirs))
	}
	for i := range max(len(ours), len(theirs)) {
		if i >= len(ours) || i >= len(theirs) || ours[i] != theirs[i] {
			t.Fatalf("packet %d of %d, perf has %d: %s, perf prints %s", i, len(ours), len(theirs), ours[min(i, len(ours)-1)], theirs[min(i, len(theirs)-1)])
		}
	}
}

// perfKind returns the kind of a packet by perf's description.
func perfKind(text string) armspe.Kind {
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "PAD":
		return armspe.Pad
	case "END":
		return armspe.End
	case "TS":
		return armspe.Timestamp
	case "PC", "TGT", "VA", "PA", "ADDR":
		return armspe.Address
	case "LAT":
		return armspe.Counter
	case "CONTEXT":
		return armspe.Context
	case "EV":
		return armspe.Events
	case "DATA-SOURCE":
		return armspe.Source
	case "B", "LD", "ST", "OTHER", "SVE-OTHER", "OP-TYPE":
		return armspe.Operation
	}
	return armspe.Bad
}

// TestSPEDamaged checks that damaged traces give the complete records, and that the rest is
// reported as missing.
func TestSPEDamaged(t *testing.T) {
	t.Parallel()
	trace := func(change func(b []byte) []byte) string {
		w := pdt.Writer{Events: []pdt.Event{{Kind: spePMU, SampleType: speSample, ID: 77, Name: "arm_spe_0//u"}}}
		w.Tracing(spePMU, speShift, speMult, speZero)
		w.Comm(8, 1, "prog", true)
		w.Trace(0, 0, -1, 0, change(damagedTrace()))
		var out bytes.Buffer
		if _, err := w.WriteTo(&out); err != nil {
			t.Fatal(err)
		}
		p := open(t, out.Bytes())
		got := all(t, p)
		for _, d := range p.Stats().Damage {
			got += fmt.Sprintf("%d x %s\n", d.Count, d.What)
		}
		return got
	}
	const damage = " x the trace of the Statistical Profiling Extension has a damaged record, which was skipped\n"
	const head, one, two, three = "exec 8/8 0 \"prog\"\n", "-1/9 [] [{401008 402010} {0 403008}] 0\n", "-1/9 [] [{40100c 402018}] 1\n", "-1/9 [] [{401010 401014}] 0\n"
	second := bytes.Index(damagedTrace(), []byte{0x0c, 0x10, 0x40})
	for _, tc := range []struct {
		name   string
		change func(b []byte) []byte
		want   string
	}{
		{"whole", func(b []byte) []byte { return b }, one + two + three},
		{"cut", func(b []byte) []byte { return b[:len(b)-20] }, one + two + "1" + damage},
		{"a byte that begins no packet", func(b []byte) []byte { b[second-1] = 0xff; return b }, one + three + "1" + damage},
		{"empty", func([]byte) []byte { return nil }, ""},
	} {
		if got := trace(tc.change); got != head+tc.want {
			t.Errorf("%s: got\n%s\nwant\n%s", tc.name, got, head+tc.want)
		}
	}
}

// recordLossy makes a file of a trace with losses: of its records, the second is cut off by a full buffer, and what
// follows it begins elsewhere.
func recordLossy(t testing.TB, big bool) []byte {
	t.Helper()
	w := pdt.Writer{Big: big, Events: []pdt.Event{{Kind: spePMU, SampleType: speSample, ID: 77, Name: "arm_spe_0//u"}}}
	w.Tracing(spePMU, speShift, speMult, speZero)
	w.Comm(8, 1, "prog", true)
	first, rest := speOperation(2, speZero, 9).Append(nil), speOperation(3, speZero, 9).Append(nil)
	cut := append(bytes.Clone(first), rest[:9]...) // its address alone
	last := speOperation(4, speZero, 9).Append(nil)
	for i, flags := range []uint64{1, 0, 1 | 8, 8 | 0x100, 4, 2} { // 2 and 0x100 are no losses
		w.Aux(0, uint64(i)*4096, 64, flags, uint64(10+i))
	}
	w.Trace(0, 0, -1, 0, cut)
	w.Trace(0, 0, -1, 4096, last)
	var out bytes.Buffer
	if _, err := w.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestSPELost counts the losses that the kernel reports, as perf does, and makes no record of the halves of two.
func TestSPELost(t *testing.T) {
	t.Parallel()
	for _, big := range []bool{false, true} {
		data := recordLossy(t, big)
		p := open(t, data)
		const want = "exec 8/8 0 \"prog\"\n-1/9 [] [{401008 402010} {0 403008}] 0\n-1/9 [] [{401010 401014}] 0\n"
		if got := all(t, p); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		stats := p.Stats()
		if len(stats.Damage) != 1 || stats.Damage[0].Count != 1 {
			t.Errorf("damage: %v, want the record that is cut off", stats.Damage)
		}
		if want := (sample.TraceLoss{Pieces: 6, Lossy: 4, Truncated: 2, Partial: 1, Collisions: 2}); stats.Trace != want {
			t.Errorf("%+v, want %+v", stats.Trace, want)
		}
		if big {
			continue // perf 6.1 expects the order of the machine that it runs on, in a trace
		}
		perfWarns(t, data, "AUX data lost 2 times out of 6", "AUX data had gaps in it 1 times out of 6", "AUX data detected collision  2 times out of 6")
	}
}

// perfWarns compares the warnings of perf with the given ones.
func perfWarns(t *testing.T, data []byte, want ...string) {
	t.Helper()
	perf, file := perfInput(t, data)
	if perf == "" {
		return
	}
	text, err := exec.Command(perf, "report", "--stdio", "-f", "-i", file).CombinedOutput()
	for _, w := range want {
		if !bytes.Contains(text, []byte(w)) {
			t.Errorf("perf does not say %q: %v\n%s", w, err, text)
		}
	}
}

// damagedTrace are the records that TestSPEDamaged damages.
func damagedTrace() (b []byte) {
	for i := 2; i < 5; i++ {
		b = speOperation(i, speZero, 9).Append(b)
	}
	return b
}

// perfScript returns what perf script prints, "" without perf.
func perfScript(t *testing.T, data []byte, args ...string) string {
	t.Helper()
	perf, file := perfInput(t, data)
	if perf == "" {
		return ""
	}
	cmd := exec.Command(perf, append([]string{"script", "-f", "-i", file}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	return string(text)
}
