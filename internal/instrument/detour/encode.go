package detour

import (
	"encoding/binary"
	"slices"
)

// Planned is a plan with the identity of its module.
type Planned struct {
	*Plan
	BuildID []byte // at most 20 bytes; none: the bytes at the sites identify it
	Main    bool   // it is the program itself
}

// The file of a plan, which c/hook/detour.c reads. All numbers are little-endian.
//
//	"cairndet", u32 version 1, u32 modules, then for each module:
//	u64 lo, hi                  its link-time addresses
//	u32 sites, fixups, blob     how many, and bytes of the last
//	u8 main, u8 id length, u8 id[20], u8 0[6]
//	sites:  u64 at, u32 entry, u8 original[5], u8 inner[4], u8 0[3]
//	fixups: u32 at, u32 kind, u64 target
//	blob, zeros up to a multiple of 8
const (
	planMagic   = "cairndet"
	planVersion = 1
	maxID       = 20
)

// Encode returns the file of some plans.
func Encode(modules []Planned) []byte {
	le := binary.LittleEndian
	out := []byte(planMagic)
	out = le.AppendUint32(out, planVersion)
	out = le.AppendUint32(out, uint32(len(modules)))
	for _, m := range modules {
		out = le.AppendUint64(out, m.Lo)
		out = le.AppendUint64(out, m.Hi)
		for _, n := range []int{len(m.Sites), len(m.Fixups), len(m.Blob)} {
			out = le.AppendUint32(out, uint32(n))
		}
		id := slices.Clone(m.BuildID[:min(len(m.BuildID), maxID)])
		out = append(out, 0, byte(len(id)))
		if m.Main {
			out[len(out)-2] = 1
		}
		out = append(out, append(id, make([]byte, maxID-len(id)+6)...)...)
		out = append(appendPlan(out, m.Plan), m.Blob...)
		out = append(out, make([]byte, -len(m.Blob)&7)...)
	}
	return out
}

// appendPlan appends the sites and fixups of a plan.
func appendPlan(out []byte, p *Plan) []byte {
	le := binary.LittleEndian
	for _, s := range p.Sites {
		out = le.AppendUint64(out, s.At)
		out = le.AppendUint32(out, s.Entry)
		out = append(out, s.Original[:]...)
		out = append(out, s.Inner[:]...)
		out = append(out, 0, 0, 0)
	}
	for _, f := range p.Fixups {
		out = le.AppendUint32(out, f.At)
		out = le.AppendUint32(out, uint32(f.Kind))
		out = le.AppendUint64(out, f.Target)
	}
	return out
}
