package pseudoprobe

import (
	"cmp"
	"errors"
	"iter"
	"math"
	"slices"

	"github.com/cairnprof/cairn/internal/bytecur"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Descriptions are the functions of .pseudo_probe_desc.
type Descriptions struct {
	data  string        // the section: names are parts of it, and take no memory
	funcs []description // ascending by guid
}

type description struct {
	guid, checksum uint64
	name, length   uint32 // in data
}

var errTooLarge = errors.New("more than 4 GiB")

// ReadDescriptions reads the contents of .pseudo_probe_desc.
func ReadDescriptions(section []byte) (*Descriptions, error) {
	if len(section) > math.MaxUint32 {
		return nil, errTooLarge
	}
	d := &Descriptions{data: string(section)}
	for c := bytecur.New(section, 0); c.Len() > 0; {
		f := description{guid: c.U64(), checksum: c.U64()}
		name := c.Bytes(c.Uvarint())
		if err := c.Err(); err != nil {
			return nil, err
		}
		f.length = uint32(len(name))
		f.name = uint32(c.Off()) - f.length
		d.funcs = append(d.funcs, f)
	}
	stablesort.Func(d.funcs, func(a, b description) int { return cmp.Compare(a.guid, b.guid) })
	return d, nil
}

// Len returns the number of functions.
func (d *Descriptions) Len() int { return len(d.funcs) }

// Description is a function that has probes.
type Description struct {
	Name     string // linkage name
	Checksum uint64 // of its control flow
}

// All yields the functions by their GUIDs, ascending.
func (d *Descriptions) All() iter.Seq2[uint64, Description] {
	return func(yield func(uint64, Description) bool) {
		for _, f := range d.funcs {
			if !yield(f.guid, Description{d.data[f.name : f.name+f.length], f.checksum}) {
				return
			}
		}
	}
}

// Name returns the linkage name of a function, "" if there is no such.
func (d *Descriptions) Name(guid uint64) string {
	if f := d.find(guid); f != nil {
		return d.data[f.name : f.name+f.length]
	}
	return ""
}

// Checksum returns the checksum of a function's control flow, which compilers
// compare with their own. It is 0 if there is no such function.
func (d *Descriptions) Checksum(guid uint64) uint64 {
	if f := d.find(guid); f != nil {
		return f.checksum
	}
	return 0
}

func (d *Descriptions) find(guid uint64) *description {
	i, ok := slices.BinarySearchFunc(d.funcs, guid, func(f description, guid uint64) int { return cmp.Compare(f.guid, guid) })
	if !ok {
		return nil
	}
	return &d.funcs[i]
}
