package sampleprof

import (
	"cmp"
	"encoding/binary"
	"math/bits"

	"github.com/cairnprof/cairn/internal/saturate"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// cutoffs are the shares of all counts, in millionths, that a summary lists: those
// of LLVM's ProfileSummaryBuilder::DefaultCutoffs.
var cutoffs = []uint64{
	10000, 100000, 200000, 300000, 400000, 500000, 600000, 700000, 800000,
	900000, 950000, 990000, 999000, 999900, 999990, 999999,
}

// Summary has the thresholds by which compilers distinguish hot from cold code.
type Summary struct {
	Total   uint64 // of all counts
	Max     uint64 // the greatest count
	MaxHead uint64

	Counts, Functions int
	Shares            []Share
}

// Share describes the greatest counts that together are a share of all.
type Share struct {
	Cutoff uint64 // the share, in millionths
	Least  uint64 // the smallest of the counts
	Counts int
}

// Least returns the smallest of the greatest counts that make up a share of all, in millionths, or the next
// greater share that summaries list; 0 if there is none.
func (s Summary) Least(cutoff uint64) uint64 {
	for _, x := range s.Shares {
		if x.Cutoff >= cutoff {
			return x.Least
		}
	}
	return 0
}

// Summarize returns the summary of contexts: that of their functions, whichever function called
// them.
func Summarize(list []Context) Summary {
	functions := Profile{}
	for _, c := range list {
		functions.Func(c.Frames[len(c.Frames)-1].Func).Add(c.Samples)
	}
	return SummarizeProfile(functions)
}

// SummarizeProfile returns the summary of functions.
func SummarizeProfile(p Profile) Summary {
	var out Summary
	var counts []uint64
	for _, s := range p {
		counts = s.counts(counts)
		out.MaxHead = max(out.MaxHead, s.Head)
	}
	stablesort.Func(counts, func(a, b uint64) int { return cmp.Compare(b, a) })
	for _, n := range counts {
		out.Total = saturate.Add(out.Total, n)
	}
	if len(counts) > 0 {
		out.Max = counts[0]
	}
	out.Counts, out.Functions = len(counts), len(p)
	i, sum := 0, uint64(0)
	for _, c := range cutoffs {
		hi, lo := bits.Mul64(out.Total, c)
		want, _ := bits.Div64(hi, lo, 1_000_000)
		for i < len(counts) && sum < want {
			sum = saturate.Add(sum, counts[i])
			i++
			for i < len(counts) && counts[i] == counts[i-1] { // all that are equal
				sum = saturate.Add(sum, counts[i])
				i++
			}
		}
		least := uint64(0)
		if i > 0 {
			least = counts[i-1]
		}
		out.Shares = append(out.Shares, Share{c, least, i})
	}
	return out
}

// append appends the section of that name to b.
func (s Summary) append(b []byte) []byte {
	for _, v := range []uint64{s.Total, s.Max, s.MaxHead, uint64(s.Counts), uint64(s.Functions), uint64(len(s.Shares))} {
		b = binary.AppendUvarint(b, v)
	}
	for _, x := range s.Shares {
		for _, v := range []uint64{x.Cutoff, x.Least, uint64(x.Counts)} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

// counts adds the counts of all places of s and of what was inlined into it.
func (s *Samples) counts(to []uint64) []uint64 {
	for _, l := range s.Body {
		to = append(to, l.Count)
	}
	for _, at := range s.Inlined {
		for _, in := range at {
			to = in.counts(to)
		}
	}
	return to
}
