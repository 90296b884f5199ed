package mapped

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/sample"
)

const idA, idB = "0123456789abcdef0123456789abcdef01234567", "fedcba9876543210fedcba9876543210fedcba98"

// TestMatch has the names under which tools and kernels write the file of a mapping.
func TestMatch(t *testing.T) {
	t.Parallel()
	modules := New([]Module{
		{Names: []string{"app", "app-1.2"}, BuildID: idA},
		{Names: []string{"libx.so.1"}},
	}, func(path string, module int) bool { return path == "/opt/renamed" && module == 1 })
	for _, c := range []struct {
		path, id string
		module   int
		how      How
	}{
		{"/usr/bin/app", "", 0, ByName},
		{"/usr/bin/app", idA, 0, ByBuildID},
		{"/usr/bin/app", idA[:32], 0, ByBuildID}, // as the kernel truncates it
		{"/usr/bin/app", idB, -1, OtherBuild},
		{"app-1.2", "", 0, ByName},
		{"/usr/bin/another", idA, 0, ByBuildID},
		{"/usr/bin/another", "", -1, Not},
		{"/usr/bin/app (deleted)", "", 0, ByName},
		{"/usr/bin/app (deleted)", idB, -1, OtherBuild},
		{"/memfd:app (deleted)", "", 0, ByName},
		{"/memfd:payload (deleted)", idA, 0, ByBuildID},
		{"/memfd:payload (deleted)", "", -1, Not},
		{"/var/lib/docker/overlay2/" + strings.Repeat("5e", 32) + "/merged/usr/bin/app", "", 0, ByName},
		{"/proc/4711/root/usr/bin/app", "", 0, ByName},
		{"/root/.debug/.build-id/" + idA[:2] + "/" + idA[2:] + "/elf", "", 0, ByBuildID},
		{"/root/.debug/.build-id/" + idB[:2] + "/" + idB[2:] + "/elf", "", -1, Not},
		{"/usr/lib/debug/.build-id/" + idA[:2] + "/" + idA[2:] + ".debug", "", 0, ByBuildID},
		{"/root/.debug/usr/bin/app/" + idA + "/elf", "", 0, ByBuildID},
		{"/root/.debug/usr/bin/app/" + idB + "/elf", "", -1, OtherBuild},
		{"/home/x/.cache/debuginfod_client/" + idA + "/executable", "", 0, ByBuildID},
		{idA, "", 0, ByBuildID},
		{"[" + idA + "]", "", 0, ByBuildID},
		{idB, "", -1, Not},
		{"/usr/lib/libx.so.1", idB, 1, ByName},
		{"/opt/renamed", "", 1, ByContent},
		{"/opt/renamed", idB, -1, Not},
		{"/", "", -1, Not},
		{"", "", -1, Not},
		{"//anon", "", -1, Not},
		{"[vdso]", "", -1, Not},
		{"inode", "", -1, Not},
	} {
		module, how := modules.Match(&sample.Mapping{Path: c.path, BuildID: c.id, Exec: true})
		if module != c.module || how != c.how {
			t.Errorf("%q %q is module %d, %v; want %d, %v", c.path, c.id, module, how, c.module, c.how)
		}
	}
}

// window returns the link-time address and module of an address of process 1 after mappings.
func window(t *testing.T, m Module, addr uint64, mappings ...sample.Mapping) (link uint64, ok bool) {
	t.Helper()
	p := NewProcesses(New([]Module{m}, nil))
	for _, x := range mappings {
		x.Exec = true
		p.Apply([]sample.Event{{Kind: sample.Map, PID: 1, Mapping: x}})
	}
	p.Apply([]sample.Event{{Kind: sample.Fork, PID: 2, Parent: 1}, {Kind: sample.Fork, PID: 2, Parent: 2}})
	for _, pid := range []int32{1, 2, sample.UnknownPID} {
		found := false
		for _, w := range p.Windows(pid) {
			if off := addr - w.Start; off < w.Size {
				link, found = w.Link+off, true
			}
		}
		if pid > 1 && found != ok {
			t.Errorf("a child differs")
		}
		ok = found
	}
	p.Apply([]sample.Event{{Kind: sample.Exec, PID: 2}})
	if len(p.Windows(2)) > 0 {
		t.Errorf("another program has the mappings of the one before")
	}
	return link, ok
}

// TestOddMappings has mappings as people have them: of kernels with large pages, of programs
// whose text was moved into huge pages, of caches.
func TestOddMappings(t *testing.T) {
	t.Parallel()
	hhvm := Module{Names: []string{"hhvm"}, Segments: []objfile.Segment{{Addr: 0x400000, Size: 0xd7e6a00, Offset: 0, Exec: true}}}
	pie := Module{Names: []string{"node"}, Segments: []objfile.Segment{
		{Addr: 0, Size: 0x8e0000, Offset: 0}, {Addr: 0xa00000, Size: 0x1400123, Offset: 0x900000, Exec: true},
	}}
	const at = 0x5590_0000_0000
	for _, c := range []struct {
		name     string
		module   Module
		mappings []sample.Mapping
		addr     uint64
		want     uint64 // 0 if it is not found
	}{
		{
			"pages of 64 KiB",
			Module{Names: []string{"app"}, Segments: []objfile.Segment{
				{Addr: 0x400000, Size: 0x638, Offset: 0}, {Addr: 0x411640, Size: 0x400, Offset: 0x1640, Exec: true},
			}},
			[]sample.Mapping{{Start: 0x410000, Size: 0x10000, Offset: 0, Path: "/bin/app"}},
			0x411700, 0x411700,
		},
		{
			"huge pages in the middle", hhvm, []sample.Mapping{
				{Start: 0x400000, Size: 0x200000, Offset: 0, Path: "/opt/hhvm"},
				{Start: 0x600000, Size: 0xa00000, Path: "//anon"},
				{Start: 0x1000000, Size: 0xcbe7000, Offset: 0xc00000, Path: "/opt/hhvm"},
			}, 0x7a0010, 0x7a0010,
		},
		{
			"all code in shared memory", pie, []sample.Mapping{
				{Start: at + 0xa00000, Size: 0x1401000, Offset: 0x900000, Path: "/usr/bin/node"},
				{Start: at + 0xa00000, Size: 0x1401000, Path: "[anon_shmem:text]"},
			}, at + 0xa00400, 0xa00400,
		},
		{
			"huge pages beyond the end", pie, []sample.Mapping{
				{Start: at + 0xa00000, Size: 0x1401000, Offset: 0x900000, Path: "/usr/bin/node"},
				{Start: at + 0xa00000, Size: 0x1600000, Path: "/anon_hugepage (deleted)"},
			}, at + 0xa00400, 0xa00400,
		},
		{
			"code generated at run time", pie, []sample.Mapping{
				{Start: at + 0xa00000, Size: 0x1401000, Offset: 0x900000, Path: "/usr/bin/node"},
				{Start: at + 0x2000000, Size: 0x1000, Path: "//anon"},
			}, at + 0x2000010, 0,
		},
		{
			"larger than the code", pie, []sample.Mapping{
				{Start: at + 0xa00000, Size: 0x1401000, Offset: 0x900000, Path: "/usr/bin/node"},
				{Start: at + 0xa00000, Size: 0x8000000, Path: "//anon"},
			}, at + 0xa00400, 0,
		},
		{
			"over data", pie, []sample.Mapping{
				{Start: at + 0xa00000, Size: 0x1401000, Offset: 0x900000, Path: "/usr/bin/node"},
				{Start: at, Size: 0x1000, Path: "//anon"},
			}, at + 0x10, 0,
		},
		{
			"another file over it", pie, []sample.Mapping{
				{Start: at + 0xa00000, Size: 0x1401000, Offset: 0x900000, Path: "/usr/bin/node"},
				{Start: at + 0xa00000, Size: 0x1401000, Path: "/usr/bin/other"},
			}, at + 0xa00400, 0,
		},
		{
			"no part of the code", pie, []sample.Mapping{{Start: at, Size: 0x1000, Offset: 0x9000000, Path: "/usr/bin/node"}}, at + 0x10, 0,
		},
	} {
		got, ok := window(t, c.module, c.addr, c.mappings...)
		if ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("%s: %#x, %v; want %#x", c.name, got, ok, c.want)
		}
	}
}

// TestKernelMappings maps modules with random segments as the kernel does, with pages of any
// size: the address of each byte of code must be found.
func TestKernelMappings(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(39, 3))
	for range 2000 {
		page := uint64(1) << (12 + 2*random.IntN(3))
		m := Module{Names: []string{"app"}}
		addr, offset := uint64(0), uint64(0)
		for range 1 + random.IntN(5) {
			s := objfile.Segment{Addr: addr, Offset: offset, Size: 1 + random.Uint64N(5*page), Exec: random.IntN(2) == 0}
			m.Segments = append(m.Segments, s)
			// The next one is in other pages, at the same place of its page in file and memory.
			offset += s.Size + random.Uint64N(page/2)
			gap := page * random.Uint64N(4)
			addr = (s.Addr+s.Size+page-1)&^(page-1) + gap + offset%page
		}
		bias := page * (1 + random.Uint64N(1<<30))
		var mappings []sample.Mapping
		for _, s := range m.Segments {
			lo, hi := s.Addr&^(page-1), (s.Addr+s.Size+page-1)&^(page-1)
			if s.Exec {
				mappings = append(mappings, sample.Mapping{Start: lo + bias, Size: hi - lo, Offset: s.Offset &^ (page - 1), Path: "/app"})
			}
		}
		for _, s := range m.Segments {
			for _, at := range []uint64{s.Addr, s.Addr + s.Size - 1, s.Addr + random.Uint64N(s.Size)} {
				if got, ok := window(t, m, at+bias, mappings...); s.Exec && (!ok || got != at) {
					t.Fatalf("pages of %#x, segments %+v: %#x is found at %#x, %v", page, m.Segments, at, got, ok)
				}
			}
		}
	}
}
