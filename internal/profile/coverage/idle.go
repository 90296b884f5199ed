package coverage

import "slices"

// maybeEntered reports whether a function ran, or was called where no code of it may remain.
func (o *observer) maybeEntered(w owner) bool {
	if o.entered[w] > 0 {
		return true
	}
	for at := range o.callers[w] {
		if o.runs[at] > 0 || o.doubtful[at] {
			return true
		}
	}
	return false
}

// maybeCalled reports whether a function ran, or was called where no code of it may remain: also by a line of which it is
// not known whether it ran, such as one of a function whose calls were computed.
func (o *observer) maybeCalled(w owner) bool {
	if o.maybeEntered(w) || o.computed(w) {
		return true
	}
	for at := range o.callers[w] {
		if o.settled[at] != Missed {
			return true
		}
	}
	return false
}

// computed reports whether a call of a function may have been inlined where nothing of it is left, by a compiler that
// lists what it inlines.
func (o *observer) computed(w owner) bool {
	if !o.listed[w] {
		return false
	}
	left := map[int]bool{}
	for at := range o.callers[w] {
		left[at.line] = true
	}
	for i := range o.returns.modules {
		c, ok := o.returns.modules[i].Code.(Inlines)
		if !ok {
			continue
		}
		lines, known := c.InlinedCalls(w.name)
		if !known || slices.ContainsFunc(lines, func(n int) bool { return !left[n] }) {
			return true
		}
	}
	return false
}

// specialised reports whether the code of the function f of a module may have been made for those of its calls only that
// were not computed before: by clang in a link.
func (r *returning) specialised(module int, f *Frame) bool {
	if !f.Lists {
		return false
	}
	c, ok := r.modules[module].Code.(Inlines)
	if !ok {
		return true
	}
	_, known := c.InlinedCalls(f.Func)
	return !known
}

// body records code of a function that is not inlined.
func (o *observer) body(m *Module, at place) {
	frames := m.Code.Frames(at.addr)
	if len(frames) == 0 {
		return
	}
	w := frames[0].owner()
	if o.bodies[w] == nil {
		o.bodies[w] = map[place]bool{}
	}
	o.bodies[w][at] = true
}

// quiet reports whether a function was certainly not called, of a compiler that lists what it inlines: none of its code
// ran, and all calls that were inlined have code in functions that were not called, either. It must have effects, for
// which the other calls are left in the code.
func (o *observer) quiet(w owner) bool {
	if o.idle == nil {
		o.findIdle()
	}
	return o.idle[w]
}

// findIdle finds the functions that are quiet.
func (o *observer) findIdle() {
	o.idle = map[owner]bool{}
	into := map[owner][]owner{} // what was inlined into a function
	var called []owner
	for w := range o.listed {
		idle := !o.maybeEntered(w) && !o.computed(w)
		for at := range o.bodies[w] {
			l := o.returns.funcs[at]
			idle = idle && l.effects && !l.ran
		}
		if o.idle[w] = idle; !idle {
			called = append(called, w)
		}
		for p := range o.parents[w] {
			if into[p] = append(into[p], w); !o.listed[p] {
				called = append(called, p)
			}
		}
	}
	for len(called) > 0 {
		w := called[len(called)-1]
		called = called[:len(called)-1]
		for _, v := range into[w] {
			if o.idle[v] {
				o.idle[v] = false
				called = append(called, v)
			}
		}
		into[w] = nil
	}
}
