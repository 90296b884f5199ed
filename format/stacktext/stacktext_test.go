package stacktext

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf16"

	"github.com/cairnprof/cairn/sample"
)

var kindMarks = map[sample.FrameKind]string{sample.KernelFrame: "_[k]", sample.InlinedFrame: "_[i]", sample.JITFrame: "_[j]"}

// show writes what a text has: a line for each stack and for each error.
func show(k Kind, text string) string {
	var b strings.Builder
	for s, err := range Read(k, strings.NewReader(text), "in") {
		if err != nil {
			fmt.Fprintf(&b, "! %v\n", err)
			continue
		}
		fmt.Fprintf(&b, "%s %d/%d %s %d %s:", s.Command, s.PID, s.TID, s.Event, s.Value, s.Unit)
		for i, f := range s.Frames {
			fmt.Fprintf(&b, "%s%s%s", map[bool]string{true: " ", false: ";"}[i == 0], f.Name, kindMarks[f.Kind])
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// texts are small inputs of each form that was seen in reports of users and tests of other tools.
var texts = []struct {
	name, text string
	kind       Kind
	want       string
}{
	{"perf", `# comment
prog 71 [000]  34438.334131:     250000 cpu-clock:
	ffffffff815e4244 set_pte_range+0x74 ([kernel.kallsyms])
	     7ffe00000a1 getit+0x9 (nf_conntrack.ko.xz)
	          401136 f(int, char (*)())+0x12 (/opt/app v2/app)
	               0 [unknown] ([unknown])

prog 71 [000]  34438.334132:     250000 cpu-clock:
	    7f00000b24e0 [unknown] (/usr/lib/libc.so.6)
	          401182 main (/memfd:app (deleted))

`, Perf, `prog -1/71 cpu-clock 250000 ns: [unknown];f(int, char (*)());getit_[k];set_pte_range_[k]
prog -1/71 cpu-clock 250000 ns: main;[libc.so.6]
`},
	{"perf of several threads, without a time", `V8 Worker-2 71/72 cycles:u:
	          401136 f (/bin/app)

dd 29776 666709.771979: page-faults:
	          40113f f (/bin/app)
`, Perf, `V8 Worker-2 71/72 cycles:u 1 samples: f
dd -1/29776 page-faults 1 samples: f
`},
	{"perf with unindented frames, copied with blanks", `java 19983 cycles:
ffffffff8103d0ca native_write_msr_safe ([kernel.kallsyms])
        7f00 Ljava/io/PrintStream;::println (/tmp/perf-19983.map)

        java 19983 cycles:
        7f00 La;::b->Lc;::d (/tmp/perf-19983.map)
`, Perf, `java -1/19983 cycles 1 samples: Ljava/io/PrintStream;::println_[j];native_write_msr_safe_[k]
java -1/19983 cycles 1 samples: La;::b_[j];Lc;::d_[i]
`},
	{"perf +srcline, inlined, dsoff, registers, branches", `a.out 35081 252436.005167:     667783 cycles:
	          408ebb push_back (inlined)
	          408ebb some+0x8b (/full/path/a.out+0x8ebb)
  uniform_int_dist.h:300
	          4069f5 main+0x935 (/full/path/a.out)
  a.out[69f5]
	          4069f0 operator->+0x3 (/full/path/a.out)
ABI:2 AX:0x1
 0x40118e/0x401130/P/-/-/4

`, Perf, "a.out -1/35081 cycles 667783 cycles: operator->;main;some;push_back_[i]\n"},
	{"perf with a cgroup, trailing comments, and tracepoints", `app 71/71 [001] 1.000000: 3 cycles:P: /user.slice/a
	          401136 f (/bin/app) # hot

sw 0 [000] 2.500000: sched:sched_switch: prev_comm=a b prev_pid=7 ==> next=c
	ffffffff81000000 __schedule ([kernel.kallsyms])
	fffffffffffffe00 [unknown] ([unknown])
	ffffffff00000010 [unknown] ([unknown])

`, Perf, `app 71/71 cycles:P 3 cycles: f
sw -1/0 sched:sched_switch 1 samples: [unknown]_[k];__schedule_[k]
`},
	{"perf without stacks, in one line", `               a 12010 11594.227890:     250000 cpu-clock:  ffffffff813a2293 finish_task_switch.isra.0+0x93 ([kernel.kallsyms])
               a 12010 11594.227891:     250000 task-clock:u:      7f6206d513aa _dl_relocate+0x78a (/usr/lib/ld.so)
               a 12010 11594.227892:          1 page-faults:  7f6206d51000 =>     7f6206d513aa g+0x1 (/usr/lib/ld.so)
`, Perf, `a -1/12010 cpu-clock 250000 ns: finish_task_switch.isra.0_[k]
a -1/12010 task-clock:u 250000 ns: _dl_relocate
a -1/12010 page-faults 1 page-faults: g
`},
	{"perf of addresses of data (-F addr) with stacks", `w  9639  4892.827500:          1 page-faults:     5653c434d030 __TMC_END__+0x0 (/opt/w)
	          401136 f+0x1 (/opt/w)
	          401182 main+0x10 (/opt/w)

w  9639  4892.827501:          1 page-faults:     5653c434d030 [unknown] (/opt/w)
	          401136 f+0x1 (/opt/w)

`, Perf, `w -1/9639 page-faults 1 page-faults: main;f
w -1/9639 page-faults 1 page-faults: f
`},
	{
		"perf -F comm,ip,sym, and -F ip,sym", "a \n\t           162bd init.0\n\tffffffff815e4244 set_pte\n\n\t           401136 main\n\t               0 [unknown]\n\n",
		Perf, "a -1/-1  1 samples: set_pte_[k];init.0\n -1/-1  1 samples: [unknown];main\n",
	},
	{"perf with records, lost ones, samples without a stack", `app 71 1.000000: PERF_RECORD_MMAP2 71/71: [0x401000(0x1000) @ 0 fe:00 1 0]: r-xp /bin/app
app 71 1.000001: PERF_RECORD_LOST lost 12
app 71 1.000002: 5 cycles:

app 71 1.000003: 5 cycles:
	          401136 (anonymous namespace)::f (/bin/app)
	          401137 (/bin/app)
not a line
`, Perf, `! in: line 2: the kernel dropped a record, as perf record was too slow (see its -m) (12 such places, this is the first)
app -1/71 cycles 5 cycles:
! in: line 8: a line is not part of a stack and was skipped
app -1/71 cycles 5 cycles: [app];(anonymous namespace)::f
`},
	{"perf -F comm,tid,ip,sym without stacks", `            sort 13023      55c5bd3af6bc [unknown]
      V8 Worker-2    71            401136 std::f(int, long)
       dd 5b4f3a2  71/72       401136 main
          (sd-pam)     7  ffffffff813a2293 finish_task_switch.isra.0
`, Perf, "sort -1/13023  1 samples: [unknown]\nV8 Worker-2 -1/71  1 samples: std::f(int, long)\ndd 5b4f3a2 71/72  1 samples: main\n(sd-pam) -1/7  1 samples: finish_task_switch.isra.0_[k]\n"},
	{
		"perf -F comm,ip,sym and tid,ip,sym,symoff,dso without stacks", "            sort            401136 f\n  13023      55c5bd3af6bc g+0x12 (/bin/sort)\n",
		Perf, "sort -1/-1  1 samples: f\n -1/13023  1 samples: g\n",
	},
	{
		"perf -F comm,pid,tid,ip,sym without stacks", "  Web Content: x  9935/9935       5596a1feb1f0 work\n            spin     7/12      ffffffff8175336a elf_load\n",
		Perf, "Web Content: x 9935/9935  1 samples: work\nspin 7/12  1 samples: elf_load_[k]\n",
	},
	{"perf -F pid,tid,ip,sym,dso without stacks", " 9935/9935       5596a1feb1f0 work (/opt/w)\n", Perf, " 9935/9935  1 samples: work\n"},
	{
		"perf -F comm,tid,cpu,time,ip,sym without stacks", "            sort 13023 [001] 11543.841660:            401136 f\n            sort 13023 [001] 11543.841661:            401137 [unknown]\n",
		Perf, "sort -1/13023  1 samples: f\nsort -1/13023  1 samples: [unknown]\n",
	},
	{
		"perf -F ip,sym,dso without stacks", "# c\n     55c5bd3af6bc [unknown] (/usr/bin/sort)\n     7f5db1d4e0b2 read (/usr/lib/libc.so.6)\n ffffffff813a2293 f ([kernel.kallsyms])\n",
		Perf, " -1/-1  1 samples: [sort]\n -1/-1  1 samples: read\n -1/-1  1 samples: f_[k]\n",
	},
	{
		"perf -F addr,ip,sym,dso without stacks", "               0     55c5bd3af6bc work (/opt/w)\n    7f00000b24e0           401136 main (/opt/w)\n",
		Perf, " -1/-1  1 samples: work\n -1/-1  1 samples: main\n",
	},
	{"bpftrace", `Attaching 1 probe...

@[
    entry_SYSCALL_64_after_hwframe+61
]: 3
@[
    tcp_recvmsg+808
    entry_SYSCALL_64_after_hwframe+61
,
    read+12
    0x401136
, redis-server, 71]: 12
@cpu[bash,
    main+4
]: 5
@[, swapper]: 2
@[
    f+1
]: x
oops
`, Bpftrace, ` -1/-1  3 samples: entry_SYSCALL_64_after_hwframe_[k]
redis-server 71 -1/-1  12 samples: [unknown];read;entry_SYSCALL_64_after_hwframe_[k];tcp_recvmsg_[k]
@cpu bash -1/-1  5 samples: main
swapper -1/-1  2 samples:
! in: line 19: a value is not a whole number: its stack was skipped
! in: line 20: a line is not part of a stack and was skipped
`},
	{
		"bpftrace, user stack first, in the form of perf", "@[\n    7f00 f+3 (/bin/app)\n,\n    ffffffff81000001 vfs_read+1 ([kernel])\n    ffffffff81000002 do_syscall_64+2 ([kernel])\n]: 4\n",
		Bpftrace, " -1/-1  4 samples: f;do_syscall_64_[k];vfs_read_[k]\n",
	},
	{"SystemTap", ` 0xffffffff8103ce3b : native_safe_halt+0xb/0x10 [kernel]
 0xffffffff81013236 : cpu_idle+0xd6/0x120 [kernel]
	2404
 0xffffffffa0001136 : probe+0x1/0x2 [mod]
 0x401136 : main+0x10/0x20 [/bin/app]
 0x7f00deadbeef
 0x401100 : ns::f(int, long)+0x10/0x20 [/bin/app+0x1000]
	4
`, DTrace, " -1/-1  2404 samples: cpu_idle_[k];native_safe_halt_[k]\n -1/-1  4 samples: ns::f(int, long);[unknown];main;probe_[k]\n"},
	{"DTrace", `CPU     ID                    FUNCTION:NAME
  0  64091                        :tick-60s


              genunix` + "`" + `kmem_free+0x4e
              unix` + "`" + `sys_syscall+0x17a

              libc.so.1` + "`" + `read+0x15
              app` + "`" + `std::vector<int>::f(int)+0x42
                1

  mysqld
              app` + "`" + `0x401136
              app` + "`" + `main
               12
              app` + "`" + `main
`, DTrace, ` -1/-1  1 samples: std::vector<int>::f(int);read;sys_syscall_[k];kmem_free_[k]
mysqld -1/-1  12 samples: main;[app]
! in: line 16: a stack has no count and was skipped
`},
	{
		"stackcount", "Tracing 1 functions for \"submit_bio\"... Hit Ctrl-C to end.\n^C\n  submit_bio\n  submit_bh\n  [unknown]\n    tar [15069]\n    36\n\n  submit_bio\n    2\n\nDetaching...\n",
		DTrace, "tar [15069] -1/-1  36 samples: [unknown];submit_bh;submit_bio\n -1/-1  2 samples: submit_bio\n",
	},
	{
		"stackcount, old", "Tracing 38 functions for \"c:str.*\"... Hit Ctrl-C to end.\n^C\n    bash [22487]\n  strlen\n  [unknown]\n    2\n\n    sh [7]\n  strcmp\n    1\n\n",
		DTrace, "bash [22487] -1/-1  2 samples: [unknown];strlen\nsh [7] -1/-1  1 samples: strcmp\n",
	},
	{"sample of macOS", `Analysis of sampling Quick (pid 78156) every 1 millisecond

Call graph:
    100 Thread_144   DispatchQueue_1: com.apple.main-thread  (serial)
    + 100 start  (in libdyld.dylib) + 1  [0x7fff2066af3d]
    +   60 ???  (in Home Assistant)  load address 0x10a99d000 + 0x888a  [0x10a9a588a]
    +   ! 60 -[NSApplication run]  (in AppKit) + 586  [0x7fff22f3e869]
    +   ! : 12 mach_msg_trap  (in libsystem_kernel.dylib) + 10  [0x7fff]
    +   30 main  (in app) + 0,15,...  [0x1,0x2]
    9 Thread_<multiple>
      9 thread_start  (in libsystem_pthread.dylib) + 13  [0x7fff9956a351]
what

Total number in stack (recursive counted multiple, when >=5):
        5       main
`, MacSample, `Thread_144 DispatchQueue_1: com.apple.main-thread (serial) -1/-1  12 samples: start;[Home Assistant];-[NSApplication run];mach_msg_trap
Thread_144 DispatchQueue_1: com.apple.main-thread (serial) -1/-1  48 samples: start;[Home Assistant];-[NSApplication run]
Thread_144 DispatchQueue_1: com.apple.main-thread (serial) -1/-1  30 samples: start;main
Thread_144 DispatchQueue_1: com.apple.main-thread (serial) -1/-1  10 samples: start
! in: line 12: a line is not part of a stack and was skipped
Thread_<multiple> -1/-1  9 samples: thread_start
`},
	{
		"simpleperf", `meta_info:
  trace_offcpu: false
sample:
  event_type: cpu-cycles:u
  time: 10000000000
  event_count: 4500
  thread_id: 31850
  thread_name: my app
  vaddr_in_file: 1a0b4
  file: /data/local/tmp/app
  symbol: std::hash(int)
  execution_type: native
  callchain:
    vaddr_in_file: 12
    file: [JIT app cache]
    symbol: Main.work
    execution_type: jit_jvm_method
    vaddr_in_file: 1a0f8
    file: /data/local/tmp/app
    symbol: *app[+1a0f8]
    vaddr_in_file: 1a200
    file: unknown
    symbol: unknown
context_switch:
  switch_on: true
  thread_id: 3
sample:
  event_type: cpu-clock
  event_count: 250
  thread_id: 31851
  thread_name: worker
  vaddr_in_file: 1
  file: [kernel.kallsyms]
  symbol: [kernel.kallsyms][+ffffffe5a1e3c094]
  callchain:
    vaddr_in_file: 2
    file: /apex/bin/linker64
    symbol: [linker]__linker_init
sample:
  time: 5
  ip: 40
  dso: /system/lib/libc.so
  symbol: read
sample:
  event_count: 1.5
  symbol: f
what
lost_situation:
  sample_count: 3
  lost_count: 2
`, Simpleperf, `my app -1/31850 cpu-cycles:u 4500 cpu-cycles: [unknown];[app];Main.work_[j];std::hash(int)
worker -1/31851 cpu-clock 250 ns: __linker_init;[kernel.kallsyms]_[k]
 -1/-1  1 samples: read
! in: line 45: a value is not a whole number: its stack was skipped
! in: line 47: a line is not part of a stack and was skipped
! in: line 50: simpleperf record lost a sample, as it was too slow (see its -m) (2 such places, this is the first)
`,
	},
	{
		"Instruments", "Weight\tSelf Weight\t\tSymbol Name\n4.93 s  100.0%\t0 s\t \tstart\n2.45 s  \u2007\u20070.0%\t846.00 ms\t \t main\n1.00 min  1.0%\t-\t \tworker\nmany\t0 s\t \tx\n%\t0 s\t \tx\n",
		Instruments, " -1/-1  846000000 ns: start;main\n! in: line 5: a value is not a whole number: its stack was skipped\n! in: line 6: a value is not a whole number: its stack was skipped\n",
	},
	{
		"Instruments, cycles", "Weight\tSelf Weight\t\tSymbol Name\n96.08 Gc  100.0%\t-\t \tapp (40414)\n532 cycles    0.0%\t532 cycles\t \t f\n1.34 Kc    0.0%\t1.34 Kc\t \t g\n",
		Instruments, " -1/-1  532 cycles: app (40414);f\n -1/-1  1340 cycles: app (40414);g\n",
	},
	{
		"Instruments, old, times", "Running Time\tSelf (ms)\t\tSymbol Name\n4273.0ms   99.9%\t0\t \tstart\n713.0ms   16.6%\t696.5\t \t alpha()\n",
		Instruments, " -1/-1  696500000 ns: start;alpha()\n",
	},
	{
		"Instruments, old, allocations", "Bytes Used\tCount\t\tSymbol Name\n 3.00 MB     100.0%\t84671\t \tstart\n   1,024 Bytes      50.4%\t42749\t \t main\n",
		Instruments, " -1/-1  1024 bytes: start;main\n -1/-1  3144704 bytes: start\n",
	},
}

func TestTexts(t *testing.T) {
	t.Parallel()
	for _, tc := range texts {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if k := Detect([]byte(tc.text)); k != tc.kind {
				t.Errorf("detected as %v", k)
			}
			if got := show(tc.kind, tc.text); got != tc.want {
				t.Errorf("got\n%swant\n%s", got, tc.want)
			}
			crlf := strings.ReplaceAll(tc.text, "\n", "\r\n")
			if got := show(tc.kind, crlf); got != tc.want {
				t.Errorf("with carriage returns: got\n%s", got)
			}
		})
	}
}

// TestDetectOthers checks that other texts, which have numbers at the ends of lines and names in parentheses, are not
// mistaken for stacks.
func TestDetectOthers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "\n\n", "version: 2\nupdates:\n", "main;f 12\nmain;g 3\n",
		"Showing nodes accounting for 150, 100% of 150 total\n      flat  flat%\n        80 53.33% 53.33%        130 86.67%  line3002 (inline)\n",
		"Period: 524288\nSamples:\nalloc_objects/count\n          4    2488234: 1 2 3\n          1     829411: 1 2\n",
		" 0x7f00/0x7f10/P/-/-/4\n\n 0x7f00/0x7f10/P/-/-/4\n",                     // branches alone
		"\t          401136\n\t          401182\n 0x40118e/0x401130/P/-/-/4\n\n", // addresses alone
		"events: Ir\nfn=(1) main\n16 400\n",
		"0000000000401136 T main\n                 U puts\n", // nm
		"     1: 0000000000401136    12 FUNC    GLOBAL DEFAULT   14 main\n     2: 0000000000401146    12 FUNC GLOBAL\n",        // readelf -s
		"Name                 Count\nmain                 1234 calls of it\nwork                 5678 calls of it\n",           // a table
		"total 8\n-rwxr-xr-x 1 root root            42749450 Nov 29 21:58 cairn\n-rw-r--r-- 1 root root  1209 Nov 29 cat.sh\n", // ls -l
		"\x7fELF\x02\x01\x01\x00",
	} {
		if k := Detect([]byte(text)); k != Unknown {
			t.Errorf("%q is detected as %v", text, k)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	deep := "app 71 1.000000: 1 cycles:\n" + strings.Repeat("\t          401136 f (/bin/app)\n", maxFrames+5) + "\napp 71 1.000001: 1 cycles:\n\t  401136 g (/bin/app)\n"
	if got := show(Perf, deep); !strings.Contains(got, deepStack) || strings.Count(got, "!") != 1 || !strings.HasSuffix(got, ": g\n") {
		t.Errorf("a deep stack: %.200q", got)
	}
	for k := Perf; k < kinds; k++ {
		long := strings.Repeat("x", maxLine+10) + "\n"
		if k == MacSample {
			long = "Call graph:\n" + long
		}
		if got := show(k, long); !strings.Contains(got, longLine) || len(got) > 1000 {
			t.Errorf("%v: a long line: %.200q", k, got)
		}
		broken := io.MultiReader(strings.NewReader(long), iotest.ErrReader(errors.New("disk error")))
		last := ""
		for _, err := range Read(k, broken, "in") {
			if err != nil {
				last = err.Error()
			}
		}
		if last != "disk error" {
			t.Errorf("%v: the last error is %q", k, last)
		}
		for range Read(k, strings.NewReader(long+long), "in") { // stops when the consumer does
			break
		}
	}
	if k := kinds; k.String() != "unknown text" || show(k, "x") != "" {
		t.Error("an unknown kind")
	}
}

// TestUTF8 reads texts in other encodings.
func TestUTF8(t *testing.T) {
	t.Parallel()
	const want = "main;größe 12\nmain;𝛼 3\n"
	units := utf16.Encode([]rune("\ufeff" + want))
	for name, order := range map[string]binary.AppendByteOrder{"little": binary.LittleEndian, "big": binary.BigEndian} {
		var b []byte
		for _, u := range units {
			b = order.AppendUint16(b, u)
		}
		if got, err := io.ReadAll(iotest.OneByteReader(UTF8(bytes.NewReader(b)))); string(got) != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if got, err := io.ReadAll(UTF8(bytes.NewReader(append(b, 'x')))); string(got) != want || err != nil {
			t.Errorf("%s, cut off: %q, %v", name, got, err)
		}
	}
	for _, text := range []string{want, "\xef\xbb\xbf" + want} {
		if got, err := io.ReadAll(UTF8(strings.NewReader(text))); string(got) != want || err != nil {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

// FuzzRead checks that no text of any kind makes a reader fail, that stacks are bounded, and that there are no more of
// them than lines.
func FuzzRead(f *testing.F) {
	for _, tc := range texts {
		f.Add([]byte(tc.text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		Detect(text)
		for k := Perf; k < kinds; k++ {
			stacks, before := 0, int64(0)
			for s, err := range Read(k, bytes.NewReader(text), "in") {
				if err != nil {
					d := new(sample.Damage)
					if !errors.As(err, &d) {
						t.Fatal(err)
					}
					if d.Line < before || d.Offset > int64(len(text)) {
						t.Fatalf("%v after line %d of %d bytes", d, before, len(text))
					}
					before = d.Line
					continue
				}
				stacks++
				if len(s.Frames) > maxFrames || s.Value == 0 && k != DTrace && k != Bpftrace {
					t.Fatalf("%v: a stack of %d frames with value %d", k, len(s.Frames), s.Value)
				}
				for _, fr := range s.Frames {
					if fr.Name == "" {
						t.Fatalf("%v: a frame without a name", k)
					}
				}
			}
			if lines := bytes.Count(text, []byte("\n")) + 1; stacks > lines {
				t.Fatalf("%v: %d stacks in %d lines", k, stacks, lines)
			}
		}
	})
}
