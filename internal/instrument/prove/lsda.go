package prove

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// lsda is the exception table of a function, in the form that gcc and clang write (the
// Itanium C++ ABI: Exception Handling, and the comments of libgcc's unwind-pe.h).
type lsda struct {
	sites []callSite
	pads  *place // what offsets of landing pads are relative to; nil: the start of the function
}

// callSite is a range of code with the same handling of exceptions. Offsets are from the start of the function.
type callSite struct {
	lo, hi  int64
	pad     int64  // 0: none
	actions string // what the handler catches, in a form for comparison
}

// site returns the call site of an offset, nil where there is none.
func (l *lsda) site(off int64) *callSite {
	i := sort.Search(len(l.sites), func(i int) bool { return l.sites[i].hi > off })
	if i == len(l.sites) || l.sites[i].lo > off {
		return nil
	}
	return &l.sites[i]
}

// lsda reads the exception table of a function.
func (o *object) lsda(f *frame) (*lsda, error) {
	if f.lsda.name != "" || f.lsda.section < 1 || f.lsda.section >= len(o.Sections) {
		return nil, errors.New("it is in another object")
	}
	data := o.Sections[f.lsda.section].Data
	if f.lsda.off < 0 || f.lsda.off >= int64(len(data)) {
		return nil, errors.New("it is outside its section")
	}
	c := bytecur.New(data[f.lsda.off:], f.lsda.off)
	l := &lsda{}
	if enc := c.U8(); enc != encOmit {
		pads, set, err := o.pointer(f.lsda.section, c, enc)
		if err != nil || !set || pads.name != "" {
			return nil, errors.Join(err, errors.New("landing pads are relative to an address that is not known"))
		}
		l.pads = &pads.place
	}
	types := typeTable{object: o, section: f.lsda.section, enc: c.U8()}
	if types.enc != encOmit {
		n := c.Uvarint()
		types.base = c.Off() + int64(n)
	}
	enc := c.U8()
	sites := c.Sub(c.Uvarint())
	types.actions = c.Off()
	field := func() int64 {
		switch enc & 0x0f {
		case 1:
			return int64(sites.Uvarint())
		case encU4, encS4:
			return int64(sites.U32())
		}
		sites.Failf("call sites in the form %#x", enc)
		return 0
	}
	for sites.Len() > 0 && sites.Err() == nil {
		s := callSite{lo: field()}
		s.hi = s.lo + field()
		s.pad = field()
		action := sites.Uvarint()
		if sites.Err() == nil {
			var err error
			if s.actions, err = types.chain(data, action); err != nil {
				return nil, err
			}
			l.sites = append(l.sites, s)
		}
	}
	return l, errors.Join(c.Err(), sites.Err())
}

// typeTable is the table that the actions of an exception table refer to.
type typeTable struct {
	*object
	section int
	enc     byte
	base    int64 // where the table of types ends, and that of lists begins
	actions int64 // where the action records begin
}

const maxActions = 1000 // in a chain

// chain returns the filters of an action and of the actions after it.
func (t *typeTable) chain(data []byte, action uint64) (string, error) {
	var s strings.Builder
	at := t.actions + int64(action) - 1
	for n := 0; action != 0; n++ {
		if n == maxActions || at < t.actions || at >= int64(len(data)) {
			return "", fmt.Errorf("the action at %#x is outside the table, or part of a cycle", at)
		}
		c := bytecur.New(data[at:], at)
		filter := c.Sleb()
		nextAt := c.Off()
		next := c.Sleb()
		if c.Err() != nil {
			return "", c.Err()
		}
		fmt.Fprintf(&s, "%d", filter)
		if filter != 0 {
			if err := t.filter(&s, data, filter); err != nil {
				return "", err
			}
		}
		s.WriteByte(';')
		if next == 0 {
			break
		}
		at = nextAt + next
	}
	return s.String(), nil
}

// filter adds the meaning of a filter: a type, or a list of types.
func (t *typeTable) filter(s *strings.Builder, data []byte, filter int64) error {
	if t.enc == encOmit {
		return errors.New("a filter without a table of types")
	}
	if filter > 0 {
		return t.typeAt(s, filter)
	}
	at := t.base - filter - 1
	if at < 0 || at >= int64(len(data)) {
		return errors.New("a list of types outside the table")
	}
	c := bytecur.New(data[at:], at)
	for {
		n := c.Uvarint()
		if c.Err() != nil {
			return c.Err()
		}
		if n == 0 {
			return nil
		}
		if err := t.typeAt(s, int64(min(n, 1<<20))); err != nil {
			return err
		}
	}
}

// typeAt adds the type of a number, which counts backwards from the end of the table.
func (t *typeTable) typeAt(s *strings.Builder, number int64) error {
	size := int64(8)
	if k := t.enc & 0x0f; k == encU4 || k == encS4 {
		size = 4
	}
	r := t.relocs[t.section][uint64(t.base-number*size)]
	if r == nil {
		s.WriteString(" any") // catch (...)
		return nil
	}
	to, ok := t.target(r, 0)
	if !ok {
		return errors.New("a type that is not a symbol")
	}
	s.WriteString(" " + t.object.describe(to))
	return nil
}

// handlers are the exception tables of a pair of functions.
type handlers struct{ a, b *lsda }

// readHandlers reads the tables of a pair of functions.
func (p *prover) readHandlers(a, b *frame) *handlers {
	x, errA := p.a.lsda(a)
	y, errB := p.b.lsda(b)
	switch {
	case errA != nil:
		p.unknown(nil, "the exception table of the code at %#x: %v", a.start.off, errA)
		return nil
	case errB != nil:
		p.differ(nil, "the exception table of the code at %#x with probes: %v", a.start.off, errB)
		return nil
	}
	if x.pads != nil || y.pads != nil {
		p.unknown(nil, "the exception table of the code at %#x: landing pads are relative to another address", a.start.off)
		return nil
	}
	return &handlers{x, y}
}

// compareHandlers compares the landing pads and handlers of an instruction's exceptions.
func (p *prover) compareHandlers(c *code, s *segment, a, b *frame, h *handlers) {
	for at := max(s.a.lo, a.start.off); at < min(s.a.hi, a.start.off+a.size); at++ {
		if !c.works(at) {
			continue
		}
		x, y := h.a.site(at-a.start.off), h.b.site(int64(c.twin[at])-1-b.start.off)
		if (x == nil) != (y == nil) {
			p.differ(s, "an exception at %#x has another handler with probes", at)
			return
		}
		if x == nil {
			continue
		}
		if (x.pad == 0) != (y.pad == 0) || x.actions != y.actions {
			p.differ(s, "an exception at %#x has another handler with probes", at)
			return
		}
		if x.pad != 0 && !c.leads(x.pad+a.start.off, y.pad+b.start.off) {
			p.differ(s, "an exception at %#x goes to %#x, and with probes elsewhere", at, x.pad+a.start.off)
			return
		}
	}
}
