package linkmap

import (
	"crypto/sha1"
	"fmt"

	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/gobuild/elfimage"
	"github.com/cairnprof/cairn/internal/gobuild/functable"
	"github.com/cairnprof/cairn/internal/gobuild/image"
	"github.com/cairnprof/cairn/prof"
)

// Unlinked returns a file with the map of packages that are in no program: that of a program which never
// runs, in which all functions are without code of their own. Its build id is a hash of its contents.
func Unlinked(tables []*functable.Table, goarch string) ([]byte, prof.BuildID, error) {
	machine, ok := map[string]uint16{"amd64": 62, "arm64": 183}[goarch]
	if !ok {
		return nil, "", fmt.Errorf("maps for GOARCH=%s: unsupported", goarch)
	}
	const start = 0x1000 // any address but 0
	p := &program{start: start, end: start}
	var funcs []prof.Func
	c := newContents()
	for _, t := range tables {
		c.begin(t)
		for i := range t.Unprobed {
			c.unprobed(&t.Unprobed[i], t.Unprobed[i].Unprobed)
		}
		for i := range t.Funcs {
			f := p.function(t, &t.Funcs[i], p.end)
			funcs = append(funcs, *f)
			c.linked(f, &t.Funcs[i])
		}
		p.end += uint64(t.Elements * t.ElementSize)
	}
	units, lines, err := c.sections()
	if err != nil {
		return nil, "", err
	}
	add := []image.Addition{
		{Name: wire.RawSection, Addr: start, Size: p.end - start},
		{Name: wire.MapSection, Data: mip.AppendMapSection([]byte{}, start, funcs)},
		{Name: golines.Section, Data: lines},
		{Name: wire.UnitSection, Data: units},
	}
	h := sha1.New()
	for _, a := range add {
		fmt.Fprintf(h, "%s %d\n%s", a.Name, len(a.Data), a.Data)
	}
	id := h.Sum(nil)
	data, err := elfimage.New(machine, id).Extend(add, false)
	return data, prof.BuildID(id), err
}
