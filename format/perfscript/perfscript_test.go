package perfscript

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/cairnprof/cairn/sample"
)

// show prints each record on one line.
func show(b *sample.Batch) string {
	var out strings.Builder
	for _, e := range b.Events {
		m := e.Mapping
		switch e.Kind {
		case sample.Map:
			fmt.Fprintf(&out, "map %d/%d %x+%x@%x %s %s %t\n", e.PID, e.TID, m.Start, m.Size, m.Offset, m.Path, m.BuildID, m.Exec)
		default:
			fmt.Fprintf(&out, "%v %d/%d %d %q\n", e.Kind, e.PID, e.TID, e.Parent, e.Name)
		}
	}
	for _, s := range b.Samples {
		fmt.Fprintf(&out, "%d/%d x%d %x %x %b\n", s.PID, s.TID, s.Count, s.Stack, s.Branches, s.Mispredicted)
	}
	return out.String()
}

// read reads all of a text.
func read(t *testing.T, r io.Reader) (string, *Reader) {
	t.Helper()
	p, err := Open(r, "in", 0)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	for b, err := range p.Batches(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(show(b))
		b.Release()
	}
	return out.String(), p
}

const hybrid = `PERF_RECORD_MMAP2 71/71: [0x401000(0x1000) @ 0x1000 fe:00 543 0]: r-xp /bin/my prog
	          401431
	          4014e7
	    7ffff7dfc24a
 0x40143d/0x401410/P/-/-/0  0x4014e2/0x4013e0/M/-/-/0 

7
	          4014e7
 0x40143d/0x401410/M/-/-/12/COND/- 

`

const hybridRead = `map 71/71 401000+1000@1000 /bin/my prog  true
-1/-1 x1 [401431 4014e7 7ffff7dfc24a] [{40143d 401410} {4014e2 4013e0}] 10
-1/-1 x7 [4014e7] [{40143d 401410}] 1
`

// TestFlatBlocks reads samples without stacks that do not fit in a block: no blank line ends them.
func TestFlatBlocks(t *testing.T) {
	t.Parallel()
	const n = 6 << 20 / 20
	for _, line := range []string{"           401136 f\n", "   app  7            401136 f\n"} {
		_, p := read(t, strings.NewReader(strings.Repeat(line, n)))
		if s := p.Stats(); s.Samples != n || s.Frames != n || len(s.Damage) > 0 {
			t.Errorf("%q: %d samples of %d, %d frames, %v", line, s.Samples, n, s.Frames, s.Damage)
		}
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want string }{
		{"hybrid", hybrid, hybridRead},
		{"CRLF", strings.ReplaceAll(hybrid, "\n", "\r\n"), hybridRead},
		{"no newline at the end", strings.TrimSpace(hybrid), hybridRead},
		{"no blank lines", strings.ReplaceAll(hybrid, "\n\n", "\n"), hybridRead},
		{"empty", "", ""},
		{"blank", "\n\n \n\t\n", ""},
		{"comments", "# captured on: x\n#\n" + hybrid, hybridRead},
		{"comments behind", hybrid + "\n// 0x1/0x2/P/-/-/0 | jmp | movl\n", hybridRead},
		{
			"branches", "401431 0x1/0x2/P/-/-/0 0x3/0x4/P/-/-/0\n 0x5/0x6/P 0x7/0x8\n 2\n3\n 0x9/0xa\n",
			"-1/-1 x1 [] [{1 2} {3 4}] 0\n-1/-1 x1 [] [{5 6} {7 8}] 0\n-1/-1 x1 [2 3] [{9 a}] 0\n",
		},
		{
			// As perf prints BRBE, with records of one side, and SPE, with a branch that was not taken.
			"Arm", " 10  0x1/0x0/M/-/-/7/SYSCALL/- 0x0/0x2/-/-/-/0/ERET/NON_SPEC_CORRECT_PATH\n 10  0x5/0x9/MN/-/-/13/COND/- 0x0/0x4/-/-/-/0//-\n",
			"-1/-1 x1 [] [{1 0} {0 2}] 1\n-1/-1 x1 [] [{5 9} {0 4}] 1\n",
		},
		{"a count for branches", "3\n401431 0x1/0x2/P\n0x3/0x4/P\n", "-1/-1 x3 [] [{1 2}] 0\n-1/-1 x1 [] [{3 4}] 0\n"},
		{"stacks", "\t 1\n\t 2\n\n\t 3\n", "-1/-1 x1 [1 2] [] 0\n-1/-1 x1 [3] [] 0\n"},
		{
			"all fields", `my 1/2 prog  71/72 [003] 34438.334131:    1001001 cycles:u: 
	          401149 work+0x10 (/bin/my prog)
	          401149 in1+0x2 (inlined)
	    7f4ef3fbe24a __libc_start_call_main+0x7a (/usr/lib/libc.so.6)
 0x40143d(/bin/my prog)/0x401410(/bin/my prog)/P/-/-/0  0x4014e2(/a)/0x4013e0(/a (deleted))/M/-/-/0 

prog    73 [000]     1.000000:   1 cycles:u:            4014e7 main+0x1 (/bin/my prog) 0x1/0x2/P/-/-/0 
71/72 
	 5
71/74 1.5: 	 9 0x3/0x4/P
    75 
        5
`, "71/72 x1 [401149 7f4ef3fbe24a] [{40143d 401410} {4014e2 4013e0}] 10\n" +
				"-1/73 x1 [] [{1 2}] 0\n71/72 x1 [5] [] 0\n71/74 x1 [] [{3 4}] 0\n-1/75 x1 [5] [] 0\n",
		},
		{
			"samples without stacks, behind other fields", `            sort 13023      55c5bd3af6bc [unknown]
            sort 13023/13024    401136 main
            sort 13023 11543.841660:     500000 cpu-clock:u:      7f00000b24e0 read (/usr/lib/libc.so.6)
            sort            401137 main
w  9639  4892.827500:          1 page-faults:     5653c434d030 data+0x0 (/opt/w)
	          401138 f+0x1 (/opt/w)
`, "-1/13023 x1 [55c5bd3af6bc] [] 0\n13023/13024 x1 [401136] [] 0\n-1/13023 x1 [7f00000b24e0] [] 0\n-1/-1 x1 [401137] [] 0\n-1/9639 x1 [401138] [] 0\n",
		},
		{
			"samples without stacks at addresses of decimal digits", "            sort            418642\ncycles:            401539\n            sort 13023            400480 main\n",
			"-1/-1 x1 [418642] [] 0\n-1/-1 x1 [401539] [] 0\n-1/13023 x1 [400480] [] 0\n",
		},
		{
			"samples without stacks alone", "# c\n     55c5bd3af6bc\n           401136 main\n ffffffff813a2293 f ([kernel.kallsyms])\n",
			"-1/-1 x1 [55c5bd3af6bc] [] 0\n-1/-1 x1 [401136] [] 0\n-1/-1 x1 [ffffffff813a2293] [] 0\n",
		},
		{
			"samples without stacks behind the address of data", "               0     55c5bd3af6bc f\n    7f00000b24e0           401136 main\nffffffffb8a6c896 ffffffff813a2293 f\n",
			"-1/-1 x1 [55c5bd3af6bc] [] 0\n-1/-1 x1 [401136] [] 0\n-1/-1 x1 [ffffffff813a2293] [] 0\n",
		},
		{
			// Cycles, types and what became of speculations, as AMD's LBR and Arm's BRBE have them. Of exceptions and
			// of returns from the kernel only one end is known.
			"kinds of branches", ` 0x40118e/0x401130/P/-/-/12/CALL/NON_SPEC_CORRECT_PATH  0x401130/0x401190/M/-/-/3/COND/SPEC_WRONG_PATH  0x4011a0/0x401180/MN/X/A/9/COND/- 
 0x0/0x401136/-/-/-/0/ERET/-  0x401140/0x0/-/-/-/0/IRQ/-
`, "-1/-1 x1 [] [{40118e 401130} {4011a0 401180}] 10\n-1/-1 x1 [] [{0 401136} {401140 0}] 0\n",
		},
		{
			"source lines", "app 1/1 1.5: 1 cycles:\n\t          401136 f+0x1 (/bin/app)\n  file.c:12\n\t          401137 g (/bin/app)\n  app[1137]\n\t          401138 main (/bin/app)\n  :0\n 0x3/0x4/P\n",
			"1/1 x1 [401136 401137 401138] [{3 4}] 0\n",
		},
		{
			"events of recent kernels", `PERF_RECORD_MMAP2 71/71: [0x401000(0x1000) @ 0x1000 <2fa9c6d1>]: r-xp /bin/app
PERF_RECORD_KSYMBOL addr ffffffffc0001000 len 229 type 1 flags 0x0 name bpf_prog_7be49e3934a125ba
PERF_RECORD_BPF_EVENT type 1, flags 0, id 15
PERF_RECORD_CGROUP cgroup: 1 /user.slice
PERF_RECORD_NAMESPACES 71/71 - nr_namespaces: 7
PERF_RECORD_AUX_OUTPUT_HW_ID hw_id: 0x1
	 1
`, "map 71/71 401000+1000@1000 /bin/app 2fa9c6d1 true\n-1/-1 x1 [1] [] 0\n",
		},
		{
			"events", `PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x1209988) @ 0xffffffff81000000]: x [kernel.kallsyms]_text
prog 71/71 1.5: PERF_RECORD_MMAP2 71/72: [0x7f4ef3fbb000(0x2000) @ 0 <2fa9c6>]: r--p [vdso]
PERF_RECORD_COMM exec: my: prog:71/71
PERF_RECORD_COMM: a:71/72
	 1
PERF_RECORD_FORK(73:74):(71:72)
	 2
PERF_RECORD_EXIT(73:73):(71:71)
PERF_RECORD_LOST lost 12
PERF_RECORD_SWITCH_CPU_WIDE IN   prev pid/tid:     0/0    
`, `map -1/0 ffffffff81000000+1209988@ffffffff81000000 [kernel.kallsyms]_text  true
map 71/72 7f4ef3fbb000+2000@0 [vdso] 2fa9c6 false
exec 71/71 0 "my: prog"
comm 71/72 0 "a"
-1/-1 x1 [1] [] 0
fork 73/74 71 ""
-1/-1 x1 [2] [] 0
exit 73/73 71 ""
`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, p := read(t, strings.NewReader(tc.text))
			if got != tc.want {
				t.Errorf("got\n%s\nwant\n%s", got, tc.want)
			}
			for _, d := range p.Stats().Damage {
				t.Error(d)
			}
			if p.Stats().Bytes != int64(len(tc.text)) {
				t.Errorf("%d bytes of %d", p.Stats().Bytes, len(tc.text))
			}
		})
	}
}

func TestDamage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, text, want, samples string }{
		{"text", "\t 1\nhello\n\t 2\n", "in: line 2: " + badLine, "-1/-1 x1 [1 2] [] 0\n"},
		{"NUL", "\t 1\n\n\x00\x00\n\t 2\n", "in: line 3: " + badLine, "-1/-1 x1 [1] [] 0\n-1/-1 x1 [2] [] 0\n"},
		{"too long a number", "\t 12345678901234567\n", badLine, ""},
		{
			"branch", "\n\t 1\n 0x1/0x2/P 0x3/ 0x4/0x5\n\n\t 2\n 0x1-0x2\n", "in: line 3: " + badBranch + " (2 such places, this is the first)",
			"-1/-1 x1 [1] [{1 2}] 0\n-1/-1 x1 [2] [] 0\n",
		},
		{"symbols", "\t 1\n f+0x1/g+0x2/P/-/-/0 g+0x1/f+0x2/P/-/-/0\n", "in: line 2: " + badSymbols, "-1/-1 x1 [1] [] 0\n"},
		{
			"offsets", "\t 555555555139\n 0x555555555139(/bin/app)/0x555555555150(/bin/app)/P/-/-/0 0x1139(/bin/app)/0x1150(/bin/app)/P/-/-/0\n",
			"in: line 2: " + badOffsets, "-1/-1 x1 [555555555139] [] 0\n",
		},
		{ // of a file whose symbols perf had not read yet, as perf 6.1 prints it
			"large offsets", "PERF_RECORD_MMAP2 7/7: [0x7ffff7a00000(0x150000) @ 0x28000 fe:00 1 0]: r-xp /lib/libc.so.6\n" +
				"\t 401126\n 0x401126(/bin/app)/0x401110(/bin/app)/P/-/-/0/  0x28100(/lib/libc.so.6)/0x40111f(/bin/app)/P/-/-/0/\n" +
				"\t 7ffff7a00104\n 0x7ffff7a00108(/lib/libc.so.6)/0x7ffff7a00100(/lib/libc.so.6)/P/-/-/0/\n",
			"in: line 3: " + badOffsets + " (2 such places, this is the first)", "*",
		},
		{
			"offsets without files", "PERF_RECORD_MMAP2 7/7: [0x401000(0x1000) @ 0x1000 fe:00 1 0]: r-xp /bin/app\n\t 401126\n 0x1126/0x1110/P/-/-/0/\n",
			"in: line 3: " + badOffsets, "*",
		},
		{"instructions", "\t 1\n\tf+31:\n\t0000000000401774\tinsn: eb 04  br_cntr: AA # PRED 5 cycles [5]\n", "in: line 3: " + badInstructions, "-1/-1 x1 [1] [] 0\n"},
		{"event", "PERF_RECORD_MMAP2 71/71: [0x401000(0x1000) @ q]: r-xp /bin/prog\n", "in: line 1: " + badEvent, ""},
		{"fork", "PERF_RECORD_FORK(1:1)\n", badEvent, ""},
		{"comm", "PERF_RECORD_COMM: x\n", badEvent, ""},
		{"lost", "PERF_RECORD_LOST lost 1234567890123456789\n", badEvent, ""},
		{"zero", "0\n\t 1\n 0x1/0x2\n\t 2\n", "in: line 1: " + badCount, "-1/-1 x1 [2] [] 0\n"},
		{"large count", "99999999999999999999\n\t 1\n", badCount, ""},
		{"deep", strings.Repeat("\t f\n", 9000), "in: line 8193: " + deepStack, "*"},
		{"wide", strings.Repeat(" 0x1/0x2/P", 5000), "in: line 1: " + wideSample, "*"},
		{"long line", "\t 1\n\n" + strings.Repeat("a", 7<<20) + "\n\t 2\n", "in: line 3: a line is longer than 4 MB", "-1/-1 x1 [1] [] 0\n-1/-1 x1 [2] [] 0\n"},
		{"long end", strings.Repeat("a", 100<<20), "in: line 1: a line is longer than 4 MB", ""},
		{"long sample", strings.Repeat("\t 1\n", 3<<20), "a sample is longer than 4 MB and was split (2 such places", "*"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got, p := read(t, strings.NewReader(tc.text))
			if got != tc.samples && tc.samples != "*" {
				t.Errorf("got\n%s\nwant\n%s", got, tc.samples)
			}
			var all []string
			for _, d := range p.Stats().Damage {
				all = append(all, d.Error())
			}
			if !strings.Contains(strings.Join(all, "\n"), tc.want) {
				t.Errorf("damage %q, want %q", all, tc.want)
			}
			if p.Stats().Bytes != int64(len(tc.text)) {
				t.Errorf("%d bytes of %d", p.Stats().Bytes, len(tc.text))
			}
		})
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		kind sample.Kind
		pids bool
	}{
		{"", sample.Nothing, false},
		{hybrid, sample.Hybrid, false},
		{"\t 1\n", sample.Stacks, false},
		{"1 0x1/0x2\n", sample.Branches, false},
		{"a 1/2 1.5:\n\t 1\n", sample.Stacks, true},
	} {
		p, err := Open(strings.NewReader(tc.text), "in", 0)
		if err != nil || p.Info().Kind != tc.kind || p.Info().HasPIDs != tc.pids {
			t.Errorf("%q: %v, %+v", tc.text, err, p.Info())
		}
	}
}

func TestDetect(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                               false,
		hybrid:                           true,
		"# ========\n# captured on: x\n": true,
		"\x7fELF\x02\x01\x01\x00\n\x00":  false,
		"main:1234:5\n 1: 5\n":           false,
		"{\n  \"a\": 1\n}\n":             false,
		hybrid + "half a li":             true,
		"hello, world":                   false,
	} {
		if Detect([]byte(text)) != want {
			t.Errorf("Detect(%q) = %t", text, !want)
		}
	}
}

// random writes samples as perf does, with what the note of the test says, and
// what a reader should make of them.
func random(r *rand.Rand, size int) (text, want string) {
	var in, out strings.Builder
	for in.Len() < size {
		var s sample.Sample
		for range r.IntN(12) {
			s.Stack = append(s.Stack, 0x401000+uint64(r.IntN(1<<20)))
			fmt.Fprintf(&in, "\t%16x\n", s.Stack[len(s.Stack)-1])
		}
		n := 1 + r.IntN(32)
		for i := range n {
			b := sample.Branch{From: 0x7f0000401000 + uint64(r.IntN(1<<20)), To: 0x401000 + uint64(r.IntN(1<<20))}
			s.Branches = append(s.Branches, b)
			flag := "P"
			if r.IntN(20) == 0 {
				flag, s.Mispredicted = "M", s.Mispredicted|1<<i
			}
			fmt.Fprintf(&in, " 0x%x/0x%x/%s/-/-/%d ", b.From, b.To, flag, r.IntN(50))
		}
		in.WriteString("\n\n")
		s.PID, s.TID, s.Count = sample.UnknownPID, sample.UnknownPID, 1
		out.WriteString(show(&sample.Batch{Samples: []sample.Sample{s}}))
	}
	return in.String(), out.String()
}

// TestBlocks reads text of several blocks, of readers that give it in pieces of
// any size.
func TestBlocks(t *testing.T) {
	t.Parallel()
	text, want := random(rand.New(rand.NewPCG(1, 2)), 5<<20)
	for name, r := range map[string]io.Reader{
		"whole":    strings.NewReader(text),
		"half":     iotest.HalfReader(strings.NewReader(text)),
		"data err": iotest.DataErrReader(strings.NewReader(text)),
	} {
		got, p := read(t, r)
		if got != want {
			t.Errorf("%s: %d bytes of samples, want %d", name, len(got), len(want))
		}
		if len(p.Stats().Damage) > 0 {
			t.Error(p.Stats().Damage[0])
		}
	}
	// Damage of a later block has its place in the whole.
	_, p := read(t, strings.NewReader(text+"hello\n"))
	if d := p.Stats().Damage; len(d) != 1 || d[0].Line != int64(strings.Count(text, "\n"))+1 || d[0].Offset != int64(len(text)) {
		t.Errorf("%v, %d bytes", d, len(text))
	}
}

// TestEnds stops reading before the input ends.
func TestEnds(t *testing.T) {
	t.Parallel()
	text, _ := random(rand.New(rand.NewPCG(1, 2)), 6<<20)
	for range 5 {
		p, err := Open(strings.NewReader(text), "in", 0)
		if err != nil {
			t.Fatal(err)
		}
		for range p.Batches(context.Background()) {
			break
		}
		ctx, cancel := context.WithCancel(context.Background())
		p, err = Open(strings.NewReader(text), "in", 0)
		if err != nil {
			t.Fatal(err)
		}
		var last error
		for _, err := range p.Batches(ctx) {
			cancel()
			last = err
		}
		if last != nil && !errors.Is(last, context.Canceled) {
			t.Error(last)
		}
		cancel()
	}
	broken := errors.New("the disk is broken")
	p, err := Open(io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), "in", 0)
	if err != nil {
		t.Fatal(err)
	}
	samples := 0
	for b, err := range p.Batches(context.Background()) {
		if err != nil {
			if !errors.Is(err, broken) {
				t.Error(err)
			}
			broken = nil
			continue
		}
		samples += len(b.Samples)
	}
	if broken != nil || samples == 0 {
		t.Errorf("no error after %d samples", samples)
	}
	if _, err := Open(iotest.ErrReader(io.ErrClosedPipe), "in", 0); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(hybrid))
	f.Add([]byte("401431 0x1/0x2/P/-/-/0 0x3/0x4/P/-/-/0\n"))
	f.Add([]byte("a 1/2 [003] 1.5: 1 cycles:\n\t 1 f+0x1 (/a)\n 0x1(/a)/0x2(/b)/M\n"))
	f.Add([]byte("\t aabb1122:1\n aabb1122:0x1/ccdd1122:0x2/P\n"))
	f.Add([]byte("PERF_RECORD_COMM exec: a:1/1\nPERF_RECORD_FORK(1:1):(2:2)\nPERF_RECORD_LOST lost 2\n3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, p := read(t, strings.NewReader(string(data)))
		if p.Stats().Bytes != int64(len(data)) {
			t.Errorf("%d bytes of %d", p.Stats().Bytes, len(data))
		}
		for _, d := range p.Stats().Damage {
			if d.Line < 1 || d.Offset < 0 || d.Offset > int64(len(data)) {
				t.Error(d)
			}
		}
		// Read in pieces, it is the same.
		if again, _ := read(t, iotest.OneByteReader(strings.NewReader(string(data)))); again != got {
			t.Errorf("%q, then %q", got, again)
		}
	})
}

func BenchmarkRead(b *testing.B) {
	text, _ := random(rand.New(rand.NewPCG(1, 2)), 64<<20)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		p, err := Open(strings.NewReader(text), "in", 0)
		if err != nil {
			b.Fatal(err)
		}
		for batch, err := range p.Batches(context.Background()) {
			if err != nil {
				b.Fatal(err)
			}
			batch.Release()
		}
	}
}
