package rawfiles

import (
	"cmp"
	"hash/crc32"
	"hash/fnv"
	"path/filepath"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/profile/merge"
	"github.com/cairnprof/cairn/internal/splitmix"
)

// Traces control which traces of runs are kept, and the weight of a run.
type Traces struct {
	Limit        int    // how many are kept, a uniform sample of all
	Seed, Weight uint64 // of the sample; how often each counts
	Scenario     string // overrides that of the raw files
	MaxCalls     uint64 // of a run, see merge.Run; 0 for no limit
}

// Run returns the contribution of the raw file at path to a profile.
func (t *Traces) Run(path string, raw *mip.Raw) *merge.Run {
	return &merge.Run{
		ID: merge.RunID(raw.Run, raw.PID), Single: (raw.Single || raw.Own) && !raw.Changed, Changed: raw.Changed,
		Data: raw.Data, Slots: raw.Order, Next: uint64(raw.Next), MaxCalls: t.MaxCalls,
		Scenario: cmp.Or(t.Scenario, raw.Scenario), Weight: t.Weight, Key: t.Key(path, raw),
	}
}

// Key draws the number that decides whether the run's trace is in the sample. Of a
// run that is not known it depends on the name of the file, which has the process and
// a number in it; all that may be the same in two containers, hence the content, too.
func (t *Traces) Key(path string, raw *mip.Raw) uint64 {
	h := fnv.New64a()
	put := func(v uint64) {
		var b [8]byte
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
		h.Write(b[:])
	}
	put(t.Seed)
	if raw.Run != 0 {
		put(raw.Run)
	} else {
		h.Write([]byte(filepath.Base(path)))
	}
	put(uint64(raw.PID))
	put(uint64(crc32.ChecksumIEEE(raw.Data)))
	return splitmix.Mix(h.Sum64())
}
