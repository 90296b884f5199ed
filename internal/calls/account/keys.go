package account

import (
	"slices"

	"github.com/cairnprof/cairn/internal/report"
)

// A Key is a number of Costs by name.
type Key struct {
	Name string
	Of   func(*Costs) uint64
}

// Keys are all numbers, in the order of their columns. sum is llvm-xray's name.
var Keys = []Key{
	{"calls", func(c *Costs) uint64 { return c.Calls }},
	{"min", func(c *Costs) uint64 { return c.Min }},
	{"median", func(c *Costs) uint64 { return c.Median }},
	{"p90", func(c *Costs) uint64 { return c.P90 }},
	{"p99", func(c *Costs) uint64 { return c.P99 }},
	{"max", func(c *Costs) uint64 { return c.Max }},
	{"total", func(c *Costs) uint64 { return c.Total }},
	{"sum", func(c *Costs) uint64 { return c.TotalRaw }},
	{"self", func(c *Costs) uint64 { return c.Self }},
}

// KeyNames returns the names of all keys.
func KeyNames() []string {
	names := make([]string, len(Keys))
	for i, k := range Keys {
		names[i] = k.Name
	}
	return names
}

// FindKey returns the key of a name, which may be one of llvm-xray's.
func FindKey(name string) (Key, bool) {
	if also, ok := map[string]string{"count": "calls", "med": "median", "90p": "p90", "99p": "p99"}[name]; ok {
		name = also
	}
	i := slices.IndexFunc(Keys, func(k Key) bool { return k.Name == name })
	if i < 0 {
		return Key{}, false
	}
	return Keys[i], true
}

// Text returns a number as it is printed in tables, "" if it is not known. step is the step of the clock in units.
func (k Key) Text(c *Costs, unit string, step uint64) string {
	switch {
	case k.Name == "calls":
		return report.Count(c.Calls)
	case !k.Known(c):
		return ""
	case k.single():
		return report.Coarse(k.Of(c), step, unit)
	}
	return report.CoarseSum(k.Of(c), step, unit)
}

// single reports whether a number is the time of a single call, which may be known only to a step of the clock.
func (k Key) single() bool {
	return slices.Contains([]string{"min", "median", "p90", "p99", "max"}, k.Name)
}

// Known reports whether costs have the number.
func (k Key) Known(c *Costs) bool {
	return !k.single() || c.Spread || k.Name == "max" && c.Max > 0
}
