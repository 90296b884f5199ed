package calllog

import "slices"

// bootApart is by how much the times can differ at which two logs of one machine say that its
// monotonic clock began: the other clock may have been set between.
const bootApart = 20e9

// Origins returns, for each log, the time that its times are shown relative to, as
// Clock.Nanoseconds gives it: the earliest start of all where their clocks may be one, else
// that of each. Common reports which. An origin may lie before the zero of a log's clock, so
// use Since to subtract it.
func Origins(logs []Log) (origins []uint64, common bool) {
	origins = make([]uint64, len(logs))
	if len(logs) == 0 {
		return origins, true
	}
	first := logs[0].Info().Clock
	common, mono := true, true
	for i, log := range logs {
		c := log.Info().Clock
		origins[i] = c.Nanoseconds(c.Start)
		common = common && c.Epoch == first.Epoch && (c.Epoch || c.Hz == first.Hz)
		mono = mono && c.Mono && first.Mono && max(c.Boot-first.Boot, first.Boot-c.Boot) < bootApart
	}
	switch {
	case mono:
		for i, log := range logs {
			origins[i] += log.Info().Clock.Base
		}
		start := slices.Min(origins)
		for i, log := range logs {
			origins[i] = start - log.Info().Clock.Base
		}
		return origins, true
	case common:
		start := slices.Min(origins)
		for i := range origins {
			origins[i] = start
		}
	}
	return origins, common
}

// Since returns the time from an origin of Origins on, 0 if t is before it.
func Since(t, origin uint64) uint64 {
	if d := t - origin; int64(d) > 0 {
		return d
	}
	return 0
}
