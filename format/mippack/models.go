package mippack

import (
	"slices"

	"github.com/cairnprof/cairn/format/mip"
)

// models are the adaptive models of each build, and of files coded byte for byte.
type models struct {
	builds []buildModel
	other  *imageModel
}

type buildModel struct {
	image   *imageModel
	order   *orderModel
	marks   [2][2]bit
	earlier []byte
}

func newModels(builds []build) *models {
	return &models{builds: make([]buildModel, len(builds)), other: newImageModel()}
}

// code codes entries, whose images and orders a decoder fills.
func (m *models) code(c *coder, entries []entry) {
	for i := range entries {
		e := &entries[i]
		if c.d != nil && c.d.spent() {
			return
		}
		if e.kind&kindCoded == 0 {
			if c.d != nil {
				e.data = make([]byte, e.stored)
			}
			m.other.code(c, e.data, nil, e.kind&flagOdd != 0)
			continue
		}
		if c.d != nil {
			e.raw.Data = make([]byte, e.stored)
		}
		b := &m.builds[e.build]
		if b.image == nil {
			b.image, b.order = newImageModel(), newOrderModel()
		}
		b.image.code(c, e.raw.Data, b.earlier, e.kind&flagOdd != 0)
		b.earlier = e.raw.Data
		if min(e.raw.Slots, e.raw.Next) > 0 {
			b.codeOrder(c, &e.raw)
		}
	}
}

// codeOrder codes which records are in the order of r, then the order.
func (b *buildModel) codeOrder(c *coder, r *mip.Raw) {
	in := make(map[uint32]int, len(r.Order)) // index in the order
	for i, record := range r.Order {
		in[record] = i
	}
	var records []uint32
	last := 0
	for i, v := range r.Data {
		if v == 0 {
			continue
		}
		one := 0
		if v == 1 {
			one = 1
		}
		_, marked := in[uint32(i)]
		if marked = c.bit(&b.marks[last][one], marked); marked {
			records, last = append(records, uint32(i)), 1
		} else {
			last = 0
		}
	}
	perm := make([]int, len(records))
	for i, record := range records {
		if k, ok := in[record]; ok {
			perm[k] = i
		}
	}
	if c.d != nil && len(records) != int(min(r.Slots, r.Next)) {
		c.d.behind = 1 << 16 // no encoder wrote this
		return
	}
	b.order.code(c, records, perm)
	if c.d != nil {
		for _, i := range perm {
			r.Order = append(r.Order, records[i])
		}
		r.Order = slices.Clip(r.Order)
	}
}
