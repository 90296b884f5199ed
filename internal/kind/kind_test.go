package kind

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/format/mip"
	mipwire "github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/format/mippack"
	"github.com/cairnprof/cairn/format/tracelog/wire"
)

// A file is of the same kind by all of it, by the head of a file and by the head of a log.
func TestFiles(t *testing.T) {
	t.Parallel()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root := func(path string) string { return filepath.Join("..", "..", filepath.FromSlash(path)) }
	for path, want := range map[string]Kind{
		program: Binary,
		root("format/gotrace/testdata/go1.26.trace"):      GoTrace,
		root("format/perfdata/testdata/packed.perf.data"): PerfData,
		root("format/perfdata/testdata/piped.perf.data"):  PerfData,
		root("format/profdata/testdata/setup.proftext"):   LLVMProfile,
		root("format/unsymbolized/testdata/contexts.txt"): Counts,
		root("format/unsymbolized/testdata/flat.txt"):     Counts,
		root("format/xray/testdata/logs/basic-args.xray"): XRayLog,
		root("format/xray/testdata/logs/fdr-ring.xray"):   XRayLog,
		root("internal/layout/order/testdata/lua.txt.gz"): Compressed,
		root("README.md"):                                    Unknown,
		root("LICENSE"):                                      Unknown,
		root("go.mod"):                                       Unknown,
		root("Makefile"):                                     Unknown,
		root("internal/kind/kind.go"):                        Unknown,
		root("internal/runtime/nativert/c/rt.c"):             Unknown,
		root("format/xray/testdata/maps/args.yaml"):          Unknown,
		root("internal/calls/flamegraph/testdata/small.svg"): Unknown,
		root("format/sarif/testdata/sarif-2.1.0-rtm.5.json"): Unknown,
	} {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, size := range []int{len(data), HeadSize, 4096} {
			head := data[:min(len(data), size)]
			if got := Of(head); got != want {
				t.Errorf("%s, %d bytes of it: %v, want %v", path, size, got, want)
			}
			if got := Among(head, Kind.IsCalls); got != Of(head) && (got != Unknown || want.IsCalls()) {
				t.Errorf("%s, %d bytes of it, among calls: %v, want %v", path, size, got, want)
			}
		}
	}
}

// logHead returns the beginning of a log that the runtime wrote.
func logHead(mode, flags uint32) string {
	head := make([]byte, 64)
	copy(head, wire.Magic)
	binary.LittleEndian.PutUint32(head[wire.ModeOffset:], mode)
	binary.LittleEndian.PutUint32(head[wire.FlagsOffset:], flags)
	return string(head)
}

func TestHeads(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		head string
		want Kind
	}{
		{"", Empty},
		{"\x00\x00\x00\x00", Zeros},
		{"\x7fELF\x02\x01\x01", Binary},
		{"\xcf\xfa\xed\xfe\x0c\x00\x00\x01", Binary},
		{mipwire.RawMagic, Raw},
		{mip.MapMagic, Map},
		{mip.ProfileMagic, Profile},
		{mippack.Magic, Pack},
		{bundle.Magic, Bundle},
		{logHead(wire.ModeTrace, 0), TraceLog},
		{logHead(wire.ModeStacks, 0), StacksLog},
		{logHead(wire.ModeSpike, 0), SpikeLog},
		{logHead(wire.ModeSpike, wire.Flight), WindowLog},
		{"SQLite format 3\x00", Database},
		{"PAR1", Parquet},
		{"PERFILE2", PerfData},
		{"1 main 451 1 hash/1 0 0 7\n", BOLTProfile},
		{"B 4b196f 4b19e0 2 0\nF 41be50 41be50 3\n", BOLTCounts},
		{"# Total Lost Samples: 0\n#\n# Samples: 492  of event 'cycles:u'\n#\n# Overhead  Command  Symbol\n", PerfReport},
		{"Cmdline: /data/local/tmp/simpleperf record ./app\nSamples: 5017\n\nOverhead  Command  Pid\n", PerfReport},
		{"SIMPLEPERF\x01\x00\x00\x00", PerfData},
		{"main:10:1\n 1: 10\n", SampleFile},
		{"main;work;hash 12\nmain;work 3\n", Stacks},
		{"app 12 1.000001: 5 cycles:u:\n\t    401136 hash+0x6 (/tmp/app)\n\t    401160 main+0x10 (/tmp/app)\n\n", PerfText},
		{"# captured on: Sat\n# a comment of anything\n", Unknown},
		{"a note\n", Unknown},
		{"some text of a user\nand more of it\n", Unknown},
	} {
		if got := Of([]byte(c.head)); got != c.want {
			t.Errorf("%.40q is %v, want %v", c.head, got, c.want)
		}
	}
}

// Each kind has one row, and each but Unknown a name of its own.
func TestRows(t *testing.T) {
	t.Parallel()
	seen := map[Kind]bool{}
	for _, r := range rows {
		if seen[r.kind] || r.kind == Unknown || r.name == "" || r.detect == nil {
			t.Errorf("the row %q: repeated or incomplete", r.name)
		}
		seen[r.kind] = true
	}
	for k := Unknown + 1; k <= Stacks; k++ {
		if !seen[k] {
			t.Errorf("kind %d has no row", k)
		}
	}
}

// Any head has a kind, the same each time.
func FuzzOf(f *testing.F) {
	f.Add([]byte("main;work 12\n"))
	f.Add([]byte(logHead(wire.ModeTrace, 0)))
	f.Add([]byte("\xcf\xfa\xed\xfe"))
	f.Fuzz(func(t *testing.T, head []byte) {
		k := Of(head)
		if k != Of(head) {
			t.Error("a head has two kinds")
		}
		if k.String() == "" {
			t.Error("a kind without a name")
		}
	})
}
