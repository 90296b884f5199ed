package order

// TraceStats is what an order means for one trace.
type TraceStats struct {
	Scenario string
	Weight   uint64
	Funcs    int     // functions that ran
	Bytes    uint64  // their size
	Bound    uint64  // pages that Bytes fill: no order touches fewer
	Pages    uint64  // pages the order touches
	Area     float64 // mean over the trace of the pages touched so far
}

// HeldOut is what an order that was computed without a scenario means for it.
type HeldOut struct {
	Scenario    string
	Traces      int
	Pages       float64 // mean over its traces
	Bound       float64 // mean over its traces
	UnseenFuncs float64 // share of its functions that are in no other scenario, 0 to 1
	UnseenBytes float64 // the same in bytes
	Warn        bool    // the share of unseen bytes is above 5 %
}

// Evaluate returns what order means for each trace of in, if the linker lays
// the functions out one behind the other from a page border on, each aligned to
// 16 bytes. Functions that are not in order follow by address.
func Evaluate(in *Input, order []uint32, pageSize uint64) []TraceStats {
	return nil
}

// LeaveOneOut returns for each scenario of in, in the order of their first
// trace, what the order means for it that alg computes from the others.
// It is empty if there are fewer than two.
func LeaveOneOut(in *Input, alg Algorithm, opts Options, pageSize uint64) []HeldOut {
	return nil
}
