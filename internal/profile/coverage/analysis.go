package coverage

import "github.com/cairnprof/cairn/prof"

// Analysis is what the code of modules tells of their lines and functions. Decoding the code of all functions
// takes most of the time of a report, and is done once.
type Analysis struct {
	modules []Module
	o       *observer
	missing []prof.Absent
}

// Analyse decodes the code of the functions of modules. Modules without lines take no time.
func Analyse(modules []Module) *Analysis {
	a := &Analysis{modules: modules, o: newObserver(modules), missing: Absent(modules)}
	a.o.observe()
	a.o.prove()
	return a
}
