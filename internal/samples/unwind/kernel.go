package unwind

import (
	"encoding/binary"
	"slices"
	"strings"
	"sync"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
)

// KernelName is the name of a part of a stack that is in the kernel and has no other name.
const KernelName = "[kernel]"

// Kernel names the functions of the operating system at the inner ends of stacks. It is safe for concurrent use.
type Kernel struct {
	Omit bool // the callers spent the time
	One  bool // all of it is one frame

	mu     sync.Mutex
	load   func() func(addr uint64) string // nil once it was called
	name   func(addr uint64) string
	ids    map[string]ref
	seen   map[string]ref // by addresses, with the names that are set
	key    []byte         // of seen
	chains []KernelPart
}

// maxSeen limits the stacks whose names are not looked up again.
const maxSeen = 1 << 16

// KernelPart is the inner end of a stack, from the kernel on.
type KernelPart struct {
	Names []string // outermost first, none with Omit
	// Outside says that other code, of no binary, is between it and the last frame of the binaries.
	Outside bool
}

// SetNames sets what returns the function that names addresses, which returns "" for those that it
// does not know. It is called when the first name is needed, and may return nil.
func (k *Kernel) SetNames(load func() func(addr uint64) string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.load, k.name = load, nil
	clear(k.seen)
}

// part returns a number for the addresses of the kernel at the beginning of a stack, innermost first.
func (k *Kernel) part(addrs []uint64, outside bool) ref {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.key = append(k.key[:0], '0')
	if outside {
		k.key[0] = '1'
	}
	for _, addr := range addrs {
		k.key = binary.LittleEndian.AppendUint64(k.key, addr)
	}
	id, ok := k.seen[string(k.key)]
	if !ok {
		id = k.named(addrs, outside)
		if k.seen == nil || len(k.seen) >= maxSeen {
			k.seen = map[string]ref{}
		}
		k.seen[string(k.key)] = id
	}
	return id
}

// named looks up the names of addresses.
func (k *Kernel) named(addrs []uint64, outside bool) ref {
	if k.load != nil && !k.One && !k.Omit {
		k.name, k.load = k.load(), nil
	}
	p := KernelPart{Outside: outside}
	for _, addr := range slices.Backward(addrs) {
		name := ""
		if k.name != nil && !k.One {
			name = k.name(addr)
		}
		if name == "" {
			name = KernelName
		}
		if n := len(p.Names); !k.Omit && !(name == KernelName && n > 0 && p.Names[n-1] == KernelName) {
			p.Names = append(p.Names, name)
		}
	}
	key := strings.Join(p.Names, "\x00")
	if outside {
		key += "\x00\x00"
	}
	id, ok := k.ids[key]
	if !ok {
		if k.ids == nil {
			k.ids = map[string]ref{}
		}
		k.chains = append(k.chains, p)
		id = ref(len(k.chains))
		k.ids[key] = id
	}
	return id
}

// Part returns the inner end of a stack for addresses of the kernel, innermost first. outside says that other code, of no
// binary, called the kernel.
func (k *Kernel) Part(addrs []uint64, outside bool) KernelPart { return *k.at(k.part(addrs, outside)) }

// Met reports whether a stack had a part in the kernel.
func (k *Kernel) Met() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.chains) > 0
}

// at returns the part with a number, nil for None.
func (k *Kernel) at(id ref) *KernelPart {
	if k == nil || id == machinecode.None {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return &k.chains[id-1]
}

// compareParts orders parts by their names.
func compareParts(a, b *KernelPart) int {
	switch {
	case a == b:
		return 0
	case a == nil:
		return -1
	case b == nil:
		return 1
	}
	if c := slices.Compare(a.Names, b.Names); c != 0 {
		return c
	}
	return compareBools(a.Outside, b.Outside)
}

// readKernel sets the kernel's part of the current stack.
func (u *Unwinder) readKernel(addrs []uint64) {
	u.kernel = machinecode.None
	if u.opt.Kernel == nil {
		return
	}
	n := 0
	for n < len(addrs) && addrs[n] >= kernelSpace && u.places.ref(addrs[n]) == external {
		n++
	}
	if n > 0 {
		u.kernel = u.opt.Kernel.part(addrs[:n], n < len(addrs) && u.places.ref(addrs[n]) == external)
	}
}
