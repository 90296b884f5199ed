package coverage

import "github.com/cairnprof/cairn/prof"

// frames returns the function f as a frame: from debug information of functions, or else, as for
// the lambdas of gcc, which have no line there, by its symbol and the line table.
func (m *Module) frames(f *prof.Func) []Frame {
	if m.Code != nil {
		if frames := m.Code.Frames(f.Addr()); len(frames) > 0 && frames[0].File != "" && frames[0].Line > 0 {
			return frames[:1]
		}
	}
	file, line := m.Source(f)
	return []Frame{{Func: f.Name, File: file, Line: line}}
}

// reach records that the innermost function has code of a line. Lines of other files, such as
// those of a macro or an included file, do not extend a function.
func (o *observer) reach(frames []Frame, at lineOf) {
	if len(frames) == 0 {
		return
	}
	if f := &frames[len(frames)-1]; f.File == at.file && at.line >= f.Line {
		w := f.owner()
		o.ends[w] = max(o.ends[w], at.line)
	}
}

// end returns the last line of f's own code in its file, at least the line of its definition.
func (o *observer) end(m *Module, f *prof.Func, line int) int {
	return max(line, o.ends[m.frames(f)[0].owner()])
}

// begin records that the line on which the code of f begins ran in as many runs as f.
func (o *observer) begin(m *Module, f *prof.Func, runs uint64) {
	if file, line := m.Source(f); line > 0 && runs > 0 {
		o.ran(lineOf{file, line}, runs)
	}
}

// inlinedRuns is inlined, and reports whether it is not known that f is the function whose copies ran: gcc's
// lambdas have one name and no line in debug information.
func (o *observer) inlinedRuns(m *Module, f *prof.Func) (runs uint64, unsure bool) {
	runs, maybe := o.inlined(m, f)
	if runs == 0 {
		return 0, maybe
	}
	if frames := m.Code.Frames(f.Addr()); frames[0].File == "" || frames[0].Line == 0 {
		return 0, true
	}
	return runs, false
}
