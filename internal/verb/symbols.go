package verb

import (
	"fmt"

	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/export"
)

// BoltSymbols returns the function symbols of a binary.
func BoltSymbols(bin *objfile.File) ([]export.Symbol, error) {
	syms, err := bin.LinkSymbols()
	if err != nil {
		return nil, err
	}
	if len(syms) == 0 {
		return nil, fmt.Errorf("%s: no symbols: give the unstripped binary", bin.Path())
	}
	out := make([]export.Symbol, len(syms))
	for i, s := range syms {
		out[i] = export.Symbol{Name: s.Name, Addr: s.Addr, Size: s.Size, File: s.File, Ordinal: s.Ordinal}
	}
	return out, nil
}
