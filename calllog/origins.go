package calllog

import "slices"

// bootApart is the maximum difference between the times at which two logs of one machine say that its monotonic
// clock began: the other clock may have been set in between.
const bootApart = 20e9

// Origins returns, for each log, the time that its displayed times are relative to, as Clock.Nanoseconds
// returns it: the earliest start of all if they may share a clock, else that of each. common reports which. An
// origin may be before the zero of a log's clock, so use Since to subtract it.
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
