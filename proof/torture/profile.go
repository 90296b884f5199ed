package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/cairnprof/cairn/format/mip"
)

// randomProfile returns a profile by which the program is built: that of its last run in
// a mode with blocks, where functions and blocks ran at random, and as often as chance had it
// if it is that of mode edge. What it says is wrong, and must change nothing but the layout.
func (p *program) randomProfile(edges bool) (string, error) {
	name := "program.mip"
	if edges {
		name = "edge.mip"
	}
	data, err := os.ReadFile(filepath.Join(p.dir, name))
	if os.IsNotExist(err) {
		return "", errNothing // it ends in a way that leaves no profile
	}
	if err != nil {
		return "", err
	}
	profile, err := mip.ReadProfile(data)
	if err != nil {
		return "", err
	}
	r := rand.New(rand.NewPCG(p.source.seed, 2))
	for i := range profile.Modules {
		m := &profile.Modules[i]
		for k := range m.Counts {
			c := &m.Counts[k]
			c.Runs = uint64(r.IntN(2)) * m.Raws
			if c.Runs == 0 {
				c.OrderSum = 0
			}
			for b := range c.Blocks {
				c.Blocks[b] = uint64(r.IntN(2)) * c.Runs
			}
			if edges {
				c.Runs, c.Calls = m.Raws, r.Uint64N(1000)
			}
			for b := range c.Times { // a quarter never ran, and most branches have one way that is likely, or the order of their function stays
				c.Times[b] = uint64(min(1, r.IntN(4))) * r.Uint64N(2<<r.IntN(16))
				c.Blocks[b] = min(1, c.Times[b]) * c.Runs
			}
		}
	}
	var out bytes.Buffer
	if err := mip.WriteProfile(&out, profile); err != nil {
		return "", err
	}
	path := filepath.Join(p.dir, "random.mip")
	return path, os.WriteFile(path, out.Bytes(), 0o666)
}
