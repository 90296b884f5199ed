package calllog

import "slices"

// Origins returns, for each log, the time that its times are shown relative to, as
// Clock.Nanoseconds gives it: the earliest start of all where their clocks may be one, else
// that of each. Common reports which.
func Origins(logs []Log) (origins []uint64, common bool) {
	origins, common = make([]uint64, len(logs)), true
	for i, log := range logs {
		c, first := log.Info().Clock, logs[0].Info().Clock
		origins[i] = c.Nanoseconds(c.Start)
		common = common && c.Epoch == first.Epoch && (c.Epoch || c.Hz == first.Hz)
	}
	if common && len(origins) > 0 {
		first := slices.Min(origins)
		for i := range origins {
			origins[i] = first
		}
	}
	return origins, common
}
