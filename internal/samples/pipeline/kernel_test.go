package pipeline

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/sample"
)

// TestKernelNames checks that functions of the kernel get names only if the running kernel is the recorded one.
func TestKernelNames(t *testing.T) {
	t.Parallel()
	const list = "ffffffff81000000 T _text\nffffffff81000010 T vfs_read\n"
	opens := func(text, id string) func() (io.ReadCloser, string, error) {
		return func() (io.ReadCloser, string, error) { return io.NopCloser(strings.NewReader(text)), id, nil }
	}
	mapped := func(path string, at uint64, id string) *sample.Batch {
		m := sample.Mapping{Start: 0xffffffff81000000, Size: 1 << 24, Offset: at, Path: path, BuildID: id}
		return &sample.Batch{Events: []sample.Event{{Kind: sample.Map, PID: sample.UnknownPID, Mapping: m}}}
	}
	const text, at = "[kernel.kallsyms]_text", 0xffffffff81000000
	for _, tc := range []struct {
		name   string
		batch  *sample.Batch
		ids    map[string]string
		open   func() (io.ReadCloser, string, error)
		want   string
		reason error
	}{
		{"the same", mapped(text, at, "ab"), nil, opens(list, "ab"), "vfs_read", nil},
		{"the same, by the list of files", mapped(text, at, ""), map[string]string{"[kernel.kallsyms]": "ab"}, opens(list, "ab"), "vfs_read", nil},
		{"another", mapped(text, at, "cd"), nil, opens(list, "ab"), "[kernel]", errOther},
		{"at another address", mapped(text, at+0x200000, "ab"), nil, opens(list, "ab"), "[kernel]", errMoved},
		{"of no build id", mapped(text, at, ""), nil, opens(list, "ab"), "[kernel]", errNoID},
		{"not mapped", mapped("/bin/app", 0, "ab"), nil, opens(list, "ab"), "[kernel]", errNotFound},
		{"hidden", mapped(text, at, "ab"), nil, opens("0000000000000000 T _text\n", "ab"), "[kernel]", nil},
		{"no list", mapped(text, at, "ab"), nil, nil, "[kernel]", errNoList},
	} {
		k := newKernel(&Plan{Product: Stacks, Unwinding: Unwinding{Kernel: KernelAll}})
		k.see(tc.batch, &sample.Info{BuildIDs: tc.ids}, tc.open)
		if k.lacking() != "" {
			t.Errorf("%s: %q, of no stack in the kernel", tc.name, k.lacking())
		}
		got := strings.Join(k.Part([]uint64{0xffffffff81000012}, false).Names, ";")
		if got != tc.want {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
		said := k.lacking()
		if (said == "") != (tc.want != "[kernel]") || tc.reason != nil && !strings.HasSuffix(said, tc.reason.Error()) {
			t.Errorf("%s: the reason is %q", tc.name, said)
		}
	}
	failed := errors.New("no such file")
	k := newKernel(&Plan{Product: Stacks, Unwinding: Unwinding{Kernel: KernelAll}})
	k.see(mapped(text, at, "ab"), &sample.Info{}, func() (io.ReadCloser, string, error) { return nil, "", failed })
	k.Part([]uint64{1 << 63}, false)
	if !strings.HasSuffix(k.lacking(), "no such file") {
		t.Error(k.lacking())
	}
	for _, p := range []Plan{{Product: Stacks}, {Product: Calls, Unwinding: Unwinding{Kernel: KernelAll}}} {
		if k := newKernel(&p); k != nil || k.frames() != (*unwind.Kernel)(nil) || k.lacking() != "" {
			t.Errorf("%+v names the kernel", p)
		}
	}
}
