package pipeline

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cairnprof/cairn/format/kallsyms"
	"github.com/cairnprof/cairn/internal/samples/unwind"
	"github.com/cairnprof/cairn/sample"
)

// kernel names the functions of the kernel on stacks. Names are those of the running kernel, if it is the one that was
// recorded: it has the same build id, and is at the same address.
type kernel struct {
	*unwind.Kernel

	met   bool  // a mapping of the kernel was met
	read  bool  // the names were read, or could not be
	why   error // why there are no names
	table *kallsyms.Table
}

// newKernel returns nil if stacks show the kernel as other code.
func newKernel(p *Plan) *kernel {
	if p.Product != Stacks || p.Kernel == "" {
		return nil
	}
	return &kernel{Kernel: &unwind.Kernel{Omit: p.Kernel == KernelNone, One: p.Kernel == KernelOne}}
}

func (k *kernel) frames() *unwind.Kernel {
	if k == nil {
		return nil
	}
	return k.Kernel
}

// mappedText is the name of the mapping of the kernel, after which perf writes the symbol that its offset is that of.
const mappedText = "[kernel.kallsyms]"

// see looks for the mapping of the kernel among the events of a batch.
func (k *kernel) see(b *sample.Batch, info *sample.Info, open func() (io.ReadCloser, string, error)) {
	if k == nil || k.Omit || k.One {
		return
	}
	for i := range b.Events {
		m := &b.Events[i].Mapping
		if symbol, ok := strings.CutPrefix(m.Path, mappedText); ok && b.Events[i].Kind == sample.Map && symbol != "" {
			id := m.BuildID
			if id == "" {
				id = info.BuildIDs[mappedText]
			}
			addr := m.Offset
			k.met = true
			k.SetNames(func() func(uint64) string { return k.use(symbol, addr, id, open) })
		}
	}
}

var (
	errNoList   = errors.New("there is no list of its symbols")
	errOther    = errors.New("/proc/kallsyms is that of another kernel")
	errMoved    = errors.New("the kernel was started anew since, at another address")
	errNoID     = errors.New("the recording does not have its build id")
	errNotFound = errors.New("the recording does not say where it was")
)

// use returns the names if the kernel at an address is the running one. They are read once, when a
// sample is in the kernel.
func (k *kernel) use(symbol string, addr uint64, id string, open func() (io.ReadCloser, string, error)) func(uint64) string {
	if !k.read {
		k.read = true
		k.table, k.why = openNames(id, open)
	}
	if k.table == nil {
		return nil
	}
	if k.table.Address(symbol) != addr {
		k.why = errMoved
		return nil
	}
	return k.table.Name
}

// openNames reads the names of the kernel with a build id.
func openNames(id string, open func() (io.ReadCloser, string, error)) (*kallsyms.Table, error) {
	if open == nil {
		return nil, errNoList
	}
	if id == "" {
		return nil, errNoID
	}
	list, running, err := open()
	if err != nil {
		return nil, err
	}
	defer list.Close()
	if running != id {
		return nil, errOther
	}
	table, err := kallsyms.Read(list)
	if err != nil {
		return nil, fmt.Errorf("/proc/kallsyms: %w", err)
	}
	return table, nil
}

// lacking says why functions of the kernel have no names, "" if they have some or there are none.
func (k *kernel) lacking() string {
	if k == nil || k.Omit || k.One || !k.Met() {
		return ""
	}
	why := k.why
	if !k.met {
		why = errNotFound
	}
	if why == nil {
		return ""
	}
	return "functions of the kernel are one frame, [kernel]: " + why.Error()
}
