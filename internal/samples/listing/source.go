package listing

import (
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// Source has the source locations of instructions. Either table may be nil.
type Source struct {
	Lines  *objfile.LineTable
	Scopes *objfile.ScopeTable
	// Probes reports that discriminators contain probe numbers, which are printed instead of
	// lines.
	Probes bool
}

// at returns the functions at an address, innermost first, each with the line relative to the
// first one of its function. With canonical, names have no compiler suffixes.
func (s *Source) at(addr uint64, canonical bool) string {
	if s.Scopes == nil {
		return ""
	}
	var line int
	var discriminator uint32
	if s.Lines != nil {
		for row := range s.Lines.Rows(addr, addr+1) {
			line, discriminator = row.Line, row.Discriminator
		}
	}
	var b strings.Builder
	scopes := s.Scopes.At(addr)
	for i := len(scopes) - 1; i >= 0; i-- {
		f := &scopes[i]
		name := f.Name
		if canonical {
			name = machinecode.CanonicalName(name)
		}
		offset := uint32(uint16(line - f.Line))
		if s.Probes {
			offset, discriminator = probeIndex(discriminator), 0
		}
		if b.Len() > 0 {
			b.WriteString(" @ ")
		}
		b.WriteString(name + ":" + strconv.FormatUint(uint64(offset), 10))
		if discriminator != 0 {
			b.WriteString("." + strconv.FormatUint(uint64(discriminator), 10))
		}
		line, discriminator = f.CallLine, f.CallDiscriminator
	}
	return b.String()
}

// probeIndex returns the number of the probe in a discriminator. One bit marks the upper three
// bits of the number as a discriminator.
func probeIndex(discriminator uint32) uint32 {
	if discriminator&(1<<28) != 0 {
		return discriminator >> 3 & 0x1fff
	}
	return discriminator >> 3 & 0xffff
}
