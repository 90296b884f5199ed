package cli

import (
	"cmp"
	"hash/crc32"
	"hash/fnv"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/internal/merge"
)

// defaultTraces is how many traces a profile keeps: at two bytes for a function
// and a few thousand functions, a few megabytes.
const defaultTraces = 1000

// runFlags say what becomes of the traces of runs.
type runFlags struct {
	limit        int
	seed, weight uint64
	scenario     string
}

func (f *runFlags) register(c *cobra.Command) {
	c.Flags().IntVar(&f.limit, "traces", defaultTraces, "keep the traces of at most so many runs, a uniform sample of all")
	c.Flags().Uint64Var(&f.seed, "seed", 0, "choose another sample")
	c.Flags().StringVar(&f.scenario, "scenario", "", "`name` the runs' scenario, instead of what CAIRN_SCENARIO was")
	c.Flags().Uint64Var(&f.weight, "weight", 1, "let the traces of these runs count so many times")
}

func (f *runFlags) check() error {
	switch {
	case f.limit < 0 || f.limit > mip.MaxTraces:
		return usagef("--traces %d: 0 to %d can be kept", f.limit, mip.MaxTraces)
	case f.weight == 0:
		return usagef("--weight 0: leave the files out instead")
	}
	return nil
}

// run returns what a raw file adds to a profile.
func (f *runFlags) run(path string, raw *mip.Raw) *merge.Run {
	return &merge.Run{
		Data: raw.Data, Slots: raw.Order, Next: uint64(raw.Next),
		Scenario: cmp.Or(f.scenario, raw.Scenario), Weight: f.weight, Key: f.key(path, raw),
	}
}

// key draws the number that decides whether the run's trace is in the sample.
// The name of a raw file has the process and a number in it; all that may be
// the same in two containers, hence the content, too.
func (f *runFlags) key(path string, raw *mip.Raw) uint64 {
	h := fnv.New64a()
	put := func(v uint64) {
		var b [8]byte
		for i := range b {
			b[i] = byte(v >> (8 * i))
		}
		h.Write(b[:])
	}
	put(f.seed)
	h.Write([]byte(filepath.Base(path)))
	put(uint64(raw.PID))
	put(uint64(crc32.ChecksumIEEE(raw.Data)))
	// FNV's high bits depend little on the last bytes: mix as splitmix64 does.
	z := h.Sum64()
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
