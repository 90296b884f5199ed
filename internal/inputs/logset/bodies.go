package logset

import (
	"maps"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/profile/sourcefunc"
)

// OneBody returns the function that finds one id for all bodies of a constructor or destructor of the source.
func (t *Set) OneBody() func(calllog.FuncID) calllog.FuncID {
	type definition struct {
		name, file, object string
		line               int
	}
	first, of := map[definition]calllog.FuncID{}, map[calllog.FuncID]calllog.FuncID{}
	for _, id := range slices.Sorted(maps.Keys(t.Funcs)) {
		fn := t.Funcs[id]
		symbol := t.Symbol(id)
		name := sourcefunc.OneBody(symbol)
		if name == symbol {
			continue
		}
		at := definition{name, fn.File, fn.Object, fn.Line}
		if _, ok := first[at]; !ok {
			first[at] = id
		}
		of[id] = first[at]
	}
	return func(id calllog.FuncID) calllog.FuncID {
		if to, ok := of[id]; ok {
			return to
		}
		return id
	}
}
