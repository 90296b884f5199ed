package calllog

// selectStack is a stack of a thread that changes between several: what a selector has of it while another runs.
type selectStack struct {
	stack []selectFrame
	told  int
	over  uint64
	held  []heldEvent
	base  int // inside, of the call below which it began
	key   FuncID
	keyed bool
}

// selectStacks are those of a thread, as an accounting of the whole log has them.
type selectStacks struct {
	cur       *selectStack
	suspended bool // cur was left, and no event followed
	keys      map[FuncID]*selectStack
}

// maxSelectStacks bounds the stacks that are kept. With more, all that do not run are given up.
const maxSelectStacks = 1 << 16

// switches handles the events around a change of stacks, which are selected whatever else is: those who read the
// selection need them.
func (x *selector) switches(e *Event) {
	x.report(e.Time)
	if x.stacks == nil {
		x.stacks = &selectStacks{cur: &selectStack{}, keys: make(map[FuncID]*selectStack)}
	}
	s := x.stacks
	c := s.keys[e.Func]
	switch {
	case e.Kind == Suspend:
		s.unkey(s.cur)
		if len(s.keys) >= maxSelectStacks {
			clear(s.keys)
		}
		s.cur.key, s.cur.keyed, s.suspended = e.Func, true, true
		s.keys[e.Func] = s.cur
	case c == nil && !s.suspended, c == s.cur:
		s.suspended = false
	case c == nil:
		x.change(&selectStack{})
	default:
		if !s.suspended {
			for len(x.stack) > 0 {
				x.pop(e.Time)
			}
			s.unkey(s.cur)
		}
		x.change(c)
	}
	marker := *e
	marker.Time, marker.Payload = x.cut(e.Time), 0
	x.put(marker, Payload{}, false)
}

func (s *selectStacks) unkey(c *selectStack) {
	if c.keyed && s.keys[c.key] == c {
		delete(s.keys, c.key)
	}
	c.keyed = false
}

// starts begins a stack with the event after that in front of a change.
func (x *selector) starts(below bool) {
	c := &selectStack{}
	if n := len(x.stack); below && n > 0 {
		c.base = x.stack[n-1].inside
	} else if below {
		c.base = x.base
	}
	x.change(c)
}

func (x *selector) change(c *selectStack) {
	s := x.stacks
	old := s.cur
	old.stack, old.told, old.over, old.held, old.base = x.stack, x.told, x.over, x.held, x.base
	x.stack, x.told, x.over, x.held, x.base = c.stack, c.told, c.over, c.held, c.base
	s.cur, s.suspended, x.border = c, false, -1
}
