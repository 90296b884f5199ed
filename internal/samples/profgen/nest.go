package profgen

import (
	"cmp"
	"maps"

	"github.com/cairnprof/cairn/format/pseudoprobe"
	"github.com/cairnprof/cairn/format/sampleprof"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Nest converts contexts to a profile in which callees are nested at their call sites, as if
// they had been inlined there. A context whose caller has no samples is merged into its
// function's own profile. Nest takes ownership of the samples.
//
// It corresponds to LLVM's ProfileConverter, including the order: if several contexts are
// merged, attributes are those of the first.
func Nest(contexts []sampleprof.Context) sampleprof.Profile {
	var root node
	for i := range contexts {
		root.path(contexts[i].Frames).samples = contexts[i].Samples
	}
	out := sampleprof.Profile{}
	root.nest(out)
	DropAmbiguous(out)
	return out
}

// nest nests the callees of n in the samples of n.
func (n *node) nest(out sampleprof.Profile) {
	for _, f := range stablesort.Sorted(maps.Keys(n.next), frame.compareHashes) {
		child := n.next[f]
		child.nest(out)
		switch {
		case child.samples == nil:
		case n.samples == nil:
			out.Merge(f.name, child.samples)
		default:
			n.samples.Nest(f.call, f.name, child.samples)
		}
	}
}

// compareHashes orders frames as LLVM does, by a hash of the callee and the call.
func (f frame) compareHashes(g frame) int {
	return cmp.Or(cmp.Compare(f.hash(), g.hash()), cmp.Compare(f.name, g.name))
}

func (f frame) hash() uint64 { return f.hashWith(pseudoprobe.GUID(f.name)) }

// hashWith hashes with the GUID of the callee.
func (f frame) hashWith(guid uint64) uint64 {
	call := uint64(f.call.Discriminator)<<32 | uint64(f.call.Offset)
	return guid + call<<5 + call
}
