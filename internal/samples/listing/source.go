package listing

import (
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/binary/machinecode"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// Source are the places in the source that instructions come from. Either table may be nil.
type Source struct {
	Lines  *objfile.LineTable
	Scopes *objfile.ScopeTable
	// Probes: discriminators have the numbers of probes, which are printed in place of lines.
	Probes bool
}

// at returns the functions at an address, innermost first, each with the line relative to the
// first one of its function. Names are canonical if that is asked for.
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

// probeIndex returns the number of the probe in a discriminator. One bit says that the upper
// three bits of the number are a discriminator.
func probeIndex(discriminator uint32) uint32 {
	if discriminator&(1<<28) != 0 {
		return discriminator >> 3 & 0x1fff
	}
	return discriminator >> 3 & 0xffff
}
