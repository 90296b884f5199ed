package perfdata_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	pdt "github.com/cairnprof/cairn/format/perfdata/perfdatatest"
	"github.com/cairnprof/cairn/sample"
)

// The flags of a branch as include/uapi/linux/perf_event.h of Linux has them, with values of each field.
const (
	inTx        = 1 << 2
	abort       = 1 << 3
	cyclesAt    = 4
	kindAt      = 20
	specAt      = 24
	newKindAt   = 26
	privilegeAt = 30

	conditional, unconditional, indirect, call, indirectCall, ret, syscall, eret = 1, 2, 3, 4, 5, 6, 7, 10

	extended                        = 15 // the kind is newKind
	wrongPath, nonSpec, correctPath = 1, 2, 3
	faultData, faultInst            = 2, 3 // newKind
	privUser, privKernel            = 1, 2
)

// Bits of branch_sample_type.
const (
	branchUser, branchAny                                    = 1, 1 << 3
	saveKind, hwIndex, savePrivilege, callStack, hasCounters = 1 << 16, pdt.HWIndex, 1 << 18, 1 << 11, pdt.Counters
)

// TestHardware reads files of branches as the kernel writes them for each kind of hardware: which fields are there, how
// deep the record is, and what has one end only. perf script reads the same.
func TestHardware(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		filter  uint64
		depth   int             // of branches before those of the row
		ends    []sample.Branch // newest first
		flags   []uint64        //
		mispred uint64          //
		want    string          // after the branches of depth
		left    uint64          // branches that were not executed
		newer   bool            // than perf 6.1
		chain   bool            // stacks too
		stack   string          // "" for that of the chain
		kind    sample.Kind     //
	}{
		{
			// perf record -b on Skylake: cycles, transactions, no kinds; a place in the ring.
			name: "Intel LBR", filter: branchUser | branchAny | hwIndex, depth: 30,
			ends: []sample.Branch{{From: 0x401010, To: 0x401100}, {From: 0x401108, To: 0x401000}}, flags: []uint64{65535<<cyclesAt | inTx, abort}, mispred: 1 << 31,
			want: "{401010 401100} {401108 401000}] 1" + strings.Repeat("0", 31), kind: sample.Branches,
		},
		{
			// perf record -j any,u,save_type, by the hardware since Alder Lake; counters by Lunar Lake.
			name: "Intel architectural LBR", filter: branchUser | branchAny | saveKind | hwIndex | hasCounters, depth: 29,
			ends:  []sample.Branch{{From: 0x401010, To: 0x401100}, {From: 0x401108, To: 0x401000}, {From: 0x401120, To: 0x401130}},
			flags: []uint64{3<<cyclesAt | indirectCall<<kindAt, 9<<cyclesAt | ret<<kindAt, unconditional << kindAt}, want: "{401010 401100} {401108 401000} {401120 401130}] 0", newer: true, kind: sample.Branches,
		},
		{
			// perf record --call-graph lbr: the record is the stack. What the kernel finds by frame pointers is not, in programs
			// that have none; in perf's own files it is the sampled address and often a zero.
			name: "Intel LBR stack", filter: branchUser | branchAny | callStack | hwIndex, chain: true,
			ends: []sample.Branch{{From: 0x401010, To: 0x401100}, {From: 0x401000, To: 0x401008}}, want: "] 0 at calls", kind: sample.Stacks, stack: "401108 401010 401000",
		},
		{
			// Zen 4: 16 branches, no cycles, and what became of speculations.
			name: "AMD LBR", filter: branchUser | branchAny | saveKind, depth: 13,
			ends:  []sample.Branch{{From: 0x401010, To: 0x401100}, {From: 0x401108, To: 0x401000}, {From: 0x401120, To: 0x401130}},
			flags: []uint64{conditional<<kindAt | correctPath<<specAt, conditional<<kindAt | wrongPath<<specAt, call<<kindAt | nonSpec<<specAt}, mispred: 1 << 13,
			want: "{401010 401100} {401120 401130}] 1" + strings.Repeat("0", 13), left: 1, newer: true, kind: sample.Branches,
		},
		{
			// Arm BRBE: 64 branches; of exceptions into the kernel and returns from it one end, with kinds of a second table
			// and privileges.
			name: "Arm BRBE", filter: branchUser | branchAny | saveKind | savePrivilege | hwIndex, depth: 60,
			ends: []sample.Branch{{From: 0, To: 0x401100}, {From: 0x401104, To: 0}, {From: 0x401108, To: 0x401000}, {From: 0x401120, To: 0}},
			flags: []uint64{
				eret<<kindAt | privUser<<privilegeAt, syscall<<kindAt | privUser<<privilegeAt, 7<<cyclesAt | indirect<<kindAt | privUser<<privilegeAt,
				extended<<kindAt | faultInst<<newKindAt | privUser<<privilegeAt,
			},
			mispred: 1 << 62, want: "{0 401100} {401104 0} {401108 401000} {401120 0}] 1" + strings.Repeat("0", 62), kind: sample.Branches,
		},
		{
			// perf record -j any: the kernel's branches too, of a processor without kinds; perf script prints numbers in place of names.
			name: "of the kernel", filter: branchAny | saveKind | savePrivilege, chain: true, depth: 1,
			ends:  []sample.Branch{{From: 0xffffffff81000010, To: 0xffffffff81000100}, {From: 0x401108, To: 0xffffffff81000000}},
			flags: []uint64{call<<kindAt | privKernel<<privilegeAt, extended<<kindAt | faultData<<newKindAt}, want: "{ffffffff81000010 ffffffff81000100} {401108 ffffffff81000000}] 0", kind: sample.Hybrid,
		},
		{
			// perf inject --itrace=l of Arm SPE: a word of all ones for the place, a branch without a beginning before the one that was sampled.
			name: "Arm SPE", filter: branchAny | saveKind | hwIndex,
			ends: []sample.Branch{{From: 0x401010, To: 0x401014}, {From: 0, To: 0x401000}}, flags: []uint64{12<<cyclesAt | conditional<<kindAt, 0}, want: "{401010 401014} {0 401000}] 0", kind: sample.Branches,
		},
	} {
		for _, big := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, big %t", tc.name, big), func(t *testing.T) {
				t.Parallel()
				e := pdt.Event{ID: 77, Name: "cycles:u", SampleType: pdt.IP | pdt.TID | pdt.Time | pdt.Period | pdt.BranchStack, BranchType: tc.filter}
				s := pdt.Sample{IP: 0x401108, PID: 71, TID: 72, Time: 3000, Period: 10, Mispredict: tc.mispred}
				stack := ""
				if tc.chain {
					e.SampleType |= pdt.Callchain
					s.Callchain, stack = []uint64{user, 0x401108, 0x401015}, "401108 401015"
				}
				if tc.stack != "" {
					stack = tc.stack
				}
				want := ""
				for i := range tc.depth {
					b := sample.Branch{From: 0x401200 + uint64(i), To: 0x401300}
					s.Branches, s.Flags = append(s.Branches, b), append(s.Flags, 1<<cyclesAt)
					want += fmt.Sprintf("{%x %x} ", b.From, b.To)
				}
				s.Branches, s.Flags = append(s.Branches, tc.ends...), append(s.Flags, tc.flags...)
				w := pdt.Writer{Big: big, Events: []pdt.Event{e}, Command: []string{"perf", "record", "-b"}}
				w.Map(71, 1000, sample.Mapping{Start: 0x401000, Size: 0x1000, Offset: 0x1000, Path: "/bin/prog", Exec: true})
				for range 2 { // what follows a sample is read as well
					w.Sample(s)
				}
				var out bytes.Buffer
				if _, err := w.WriteTo(&out); err != nil {
					t.Fatal(err)
				}
				p := open(t, out.Bytes())
				got := all(t, p)
				line := fmt.Sprintf("71/72 [%s] [%s%s\n", stack, want, tc.want)
				if _, samples, _ := strings.Cut(got, "\n"); samples != line+line {
					t.Errorf("got\n%s\nwant twice\n%s", samples, line)
				}
				if n, k := p.Stats().WrongPath, p.Info().Kind; n != 2*tc.left || k != tc.kind || len(p.Stats().Damage) > 0 {
					t.Errorf("%d branches left out, %v, %v", n, k, p.Stats().Damage)
				}
				if !tc.newer && !tc.chain { // perf 6.1 prints stacks as offsets
					comparePerf(t, out.Bytes(), got, !big)
				}
			})
		}
	}
}
