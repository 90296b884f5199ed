package account

// CostsJSON is Costs in JSON, in the unit that the document names.
type CostsJSON struct {
	Calls uint64 `json:"calls"`
	*spreadJSON
	Max    *uint64 `json:"max,omitempty"`
	Total  uint64  `json:"total"`
	Sum    uint64  `json:"sum"`
	Self   uint64  `json:"self"`
	NoExit uint64  `json:"no_exit,omitempty"`
	Open   uint64  `json:"open,omitempty"`
	// Inferred are calls that a jump at the end of the caller made.
	Inferred uint64 `json:"inferred,omitempty"`
}

// spreadJSON is the times of single calls, where they are known.
type spreadJSON struct {
	Min    uint64 `json:"min"`
	Median uint64 `json:"median"`
	P90    uint64 `json:"p90"`
	P99    uint64 `json:"p99"`
}

// JSON returns the costs as documents have them.
func (c *Costs) JSON() CostsJSON {
	out := CostsJSON{c.Calls, nil, nil, c.Total, c.TotalRaw, c.Self, c.Deduced, c.Open, c.Inferred}
	if c.Spread {
		out.spreadJSON = &spreadJSON{c.Min, c.Median, c.P90, c.P99}
	}
	if c.Spread || c.Max > 0 {
		out.Max = &c.Max
	}
	return out
}
