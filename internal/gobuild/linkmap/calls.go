package linkmap

import (
	"strings"

	"github.com/cairnprof/cairn/internal/gobuild/image"
	"github.com/cairnprof/cairn/internal/stablesort"
	"github.com/cairnprof/cairn/prof"
)

// addCalls gives each function the direct calls of others in its code. The counts of calls are
// distributed among them, so they matter in mode count; in mode block blocks have no addresses.
func addCalls(file image.Image, funcs []prof.Func) {
	entries := map[uint64]string{}
	for i := range funcs {
		for _, f := range funcs[i].Fragments {
			entries[f.Addr] = funcs[i].Name
		}
	}
	find := callsAMD64
	if !file.AMD64() {
		find = callsARM64
	}
	for i := range funcs {
		f := &funcs[i]
		if !f.Mode.HasCalls() || f.Mode.HasBlocks() {
			continue
		}
		callees := map[string]bool{}
		for _, part := range f.Fragments {
			code := file.At(part.Addr)
			for target := range find(code[:min(len(code), int(part.Size))], part.Addr) {
				if name, ok := entries[target]; ok && !callees[name] {
					callees[name] = true
					f.Calls = append(f.Calls, prof.Call{Callee: name})
				}
			}
		}
		stablesort.Func(f.Calls, func(a, b prof.Call) int { return strings.Compare(a.Callee, b.Callee) })
	}
}

// callsAMD64 yields the addresses that code at an address may call. It does not decode instructions: a byte that is the
// opcode of a call, followed by the distance to the start of a function, is rarely anything else.
func callsAMD64(code []byte, addr uint64) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for i := 0; i+5 <= len(code); i++ {
			if code[i] == 0xe8 && !yield(addr+uint64(i)+5+uint64(int64(int32(le.Uint32(code[i+1:]))))) {
				return
			}
		}
	}
}

// callsARM64 yields the addresses that code at an address calls (BL).
func callsARM64(code []byte, addr uint64) func(func(uint64) bool) {
	return func(yield func(uint64) bool) {
		for i := 0; i+4 <= len(code); i += 4 {
			if w := le.Uint32(code[i:]); w>>26 == 0x25 && !yield(addr+uint64(i)+uint64(int64(int32(w<<6)>>6)<<2)) {
				return
			}
		}
	}
}
