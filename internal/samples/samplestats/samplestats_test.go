package samplestats

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/format/perfscript"
	"github.com/cairnprof/cairn/internal/samples/mapped"
)

// modules are binaries of which only the names are known, nil for none.
func modules(names []string) *mapped.Modules {
	if len(names) == 0 {
		return nil
	}
	var list []mapped.Module
	for _, n := range names {
		list = append(list, mapped.Module{Names: []string{n}})
	}
	return mapped.New(list, nil)
}

// run surveys a text of perf script.
func run(t *testing.T, text string, binaries ...string) *Result {
	t.Helper()
	src, err := perfscript.Open(strings.NewReader(text), "in", 0)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Run(context.Background(), src, Options{Modules: modules(binaries)}, func(int64) {})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const maps = `a 71/71 PERF_RECORD_MMAP2 71/71: [0x401000(0x1000) @ 0x1000 fe:00 5 0]: r-xp /bin/prog
a 71/71 PERF_RECORD_MMAP2 71/71: [0x7f0000000000(0x1000) @ 0 fe:00 6 0]: r-xp /lib/libc.so.6
a 71/71 PERF_RECORD_MMAP2 71/71: [0x7f0000001000(0x1000) @ 0 fe:00 6 0]: r--p /lib/libc.so.6
a 71/71 PERF_RECORD_MMAP2 71/71: [0x7fff00000000(0x1000) @ 0 00:00 0 0]: r-xp [vdso]
`

func TestReasons(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, sample string
		want         Reason
	}{
		{"usable", "\t 401010\n\t 401020\n 0x401030/0x401008/P", Usable},
		{"a library calls back", "\t 7f0000000010\n\t 401020\n 0x7f0000000020/0x7f0000000008/P", Usable},
		{"kernel", "\t ffffffff81000000\n 0xffffffff81000000/0xffffffff81000010/P", Kernel},
		{"nowhere", "\t 10\n 0x20/0x8/P", NoMapping},
		{"data", "\t 7f0000001010\n 0x20/0x8/P", External},
		{"vdso", "\t 7fff00000010\n 0x7fff00000010/0x7fff00000020/P", External},
		{"library", "\t 7f0000000010\n 0x7f0000000020/0x7f0000000008/P", External},
		{"stack only", "\t 401010\n", NoBranches},
		{"backwards", "\t 401010\n 0x401010/0x401008/P 0x401050/0x401040/P", LostBranches},
		{"the newest twice", "\t 401010\n 0x401008/0x401010/P 0x401008/0x401010/P 0x401050/0x401000/P", Usable},
		{"an older one twice", "\t 401010\n 0x401020/0x401000/P 0x401008/0x401010/P 0x401008/0x401010/P", LostBranches},
		{"into a library", "\t 401010\n 0x401010/0x401008/P 0x401050/0x7f0000000040/P", Usable},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			const whole = "a 71/71 1.5:\n\t 401010\n 0x401030/0x401008/P\n\n"
			r := run(t, maps+whole+"a 71/71 1.5:\n"+tc.sample+"\n\n", "prog")
			want := [Reasons]uint64{Usable: 1}
			want[tc.want]++
			if r.ByReason != want {
				t.Errorf("%v, want %v", r.ByReason, want)
			}
		})
	}
}

// TestRows counts the samples of two processes, one of which ended and whose id was used again.
func TestRows(t *testing.T) {
	t.Parallel()
	r := run(t, maps+`PERF_RECORD_COMM exec: first:71/71
PERF_RECORD_MMAP2 71/71: [0x401000(0x1000) @ 0x1000 fe:00 5 0]: r-xp /bin/prog
a 71/71 1.5:
	 401010
	 401020

PERF_RECORD_FORK(72:72):(71:71)
PERF_RECORD_COMM: thread:71/73
b 72/72 1.5:
	 401010

PERF_RECORD_EXIT(72:72):(71:71)
PERF_RECORD_COMM exec: second:72/72
PERF_RECORD_MMAP2 72/72: [0x555555555000(0x1000) @ 0x1000 <ab12>]: r-xp /bin/prog
b 72/72 1.5:
	 555555555010

b 72/72 1.5:
	 401010
`+strings.Repeat("\t 401020\n", deepest))
	var rows []string
	for _, p := range r.Processes {
		rows = append(rows, fmt.Sprintf("%d %s %d", p.PID, p.Name, p.Samples))
	}
	for _, b := range r.Binaries {
		rows = append(rows, fmt.Sprintf("%s %s %d %d %d %d", b.Path, b.BuildID, b.Samples, b.Frames, b.Processes, b.Loads))
	}
	want := []string{"72 second 3", "71 first 1", "/bin/prog ab12 3 4 2 2"}
	if strings.Join(rows, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(rows, "\n"), strings.Join(want, "\n"))
	}
	if r.CutStacks != 1 || r.Elsewhere != 1 || r.ByReason[NoMapping] != 1 {
		t.Errorf("%+v", r)
	}
}
