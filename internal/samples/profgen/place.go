package profgen

// Place returns a number for the location of an instruction that calls or jumps to a function,
// equal for all copies that an optimiser made of it. It is 0 if there is no probe.
func (p *Probes) Place(r ref) uint64 {
	c, ok := p.call(r)
	if !ok {
		return 0
	}
	return uint64(c.get().Copy+1)<<32 | uint64(c.get().ID)
}

// Place returns a number for the line of an instruction and of the calls by which it was
// inlined, or 0 if they are not known.
func (l *Lines) Place(r ref) uint64 {
	stack := l.Inlined(r)
	if stack == 0 {
		return 0
	}
	frames := l.at(r)
	return uint64(stack)<<32 | uint64(frames[len(frames)-1].Call.Offset)
}
