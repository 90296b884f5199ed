package coverage

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// WriteLCOV writes files as an lcov tracefile, which all versions of lcov read and find
// consistent, and returns what it cannot list. The records of a file are:
//
//	SF:path
//	FN:line,name     for each function; see lcovFuncs for FN:line,end,name
//	FNDA:runs,name   for each function
//	FNF:functions
//	FNH:functions hit
//	BRDA:line,branch,way,runs   for each way of a branch of which it is known, see writeBranches
//	BRF:ways
//	BRH:ways taken
//	DA:line,runs     for each line with instructions of which it is known
//	LF:lines
//	LH:lines hit
//	end_of_record
//
// Both counts are numbers of runs of the program, because only these are known for lines. The
// format has two states: lines in unknown state are omitted, as if they had no instructions.
//
// Names are mangled: demangled ones contain commas, which separate fields here, and genhtml
// --demangle-cpp demangles them itself.
func WriteLCOV(w io.Writer, files []SourceFile) (out Unlisted, err error) {
	b := bufio.NewWriter(w)
	b.WriteString("TN:\n")
	for i := range files {
		n := writeRecord(b, &files[i])
		out.Functions, out.Ways = out.Functions+n.Functions, out.Ways+n.Ways
	}
	return out, b.Flush()
}

// Unlisted counts what a tracefile cannot list although it is known.
type Unlisted struct {
	Functions int // see lcovFuncs
	Ways      int // of branches, see writeBranches
}

func writeRecord(b *bufio.Writer, f *SourceFile) (out Unlisted) {
	field := func(key string, n uint64, rest string) {
		b.WriteString(key)
		b.WriteString(strconv.FormatUint(n, 10))
		b.WriteString(rest)
		b.WriteByte('\n')
	}
	funcs, n := lcovFuncs(f)
	out.Functions = n
	if len(funcs)+len(f.Lines) == 0 { // all its functions are without code
		return out
	}
	b.WriteString("SF:" + oneLine(f.File) + "\n")
	var hit uint64
	for i := range funcs {
		fn, end := &funcs[i], ""
		if fn.end > 0 {
			end = "," + strconv.Itoa(fn.end)
		}
		field("FN:", uint64(fn.line), end+","+fn.name)
	}
	for i := range funcs {
		field("FNDA:", funcs[i].runs, ","+funcs[i].name)
		if funcs[i].runs > 0 {
			hit++
		}
	}
	field("FNF:", uint64(len(funcs)), "")
	field("FNH:", hit, "")
	out.Ways = writeBranches(b, f)
	t := f.Tally()
	for _, l := range f.Lines {
		if l.State != Unknown {
			field("DA:", uint64(l.Number), ","+strconv.FormatUint(l.Count(), 10))
		}
	}
	field("LF:", uint64(t.Ran+t.Missed), "")
	field("LH:", uint64(t.Ran), "")
	b.WriteString("end_of_record\n")
	return out
}

// oneLine prevents a name from a file of unknown origin from adding records.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "?", "\r", "?").Replace(s)
}

// writeBranches writes the ways of branches that are known: with the number of runs that took it, or - if the branch
// was not evaluated. lcov 2 rejects files in which a line ran and none of its branches was evaluated, as may be if a
// call before it did not return, or if all that is known of them is which ways were not taken: these lines are
// listed without branches, as are lines in unknown state.
func writeBranches(b *bufio.Writer, f *SourceFile) (unlisted int) {
	state := make(map[int]State, len(f.Lines))
	for _, l := range f.Lines {
		state[l.Number] = l.State
	}
	found, hit := 0, 0
	for rest := f.Branches; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Line == rest[0].Line {
			n++
		}
		group := rest[:n]
		rest = rest[n:]
		var t BranchTally
		for i := range group {
			t.Add(&group[i])
		}
		if s, listed := state[group[0].Line]; !listed || s == Unknown || (s == Ran) != (t.Taken > 0) {
			unlisted += t.Taken + t.Missed
			continue
		}
		for i := range group {
			for way, w := range group[i].Ways {
				runs := strconv.FormatUint(w.Count(), 10)
				switch {
				case w.State == Unknown:
					continue
				case !group[i].Ran:
					runs = "-"
				}
				b.WriteString("BRDA:" + strconv.Itoa(group[i].Line) + "," + strconv.Itoa(i) + "," + strconv.Itoa(way) + "," + runs + "\n")
			}
		}
		found, hit = found+t.Taken+t.Missed, hit+t.Taken
	}
	if found > 0 {
		b.WriteString("BRF:" + strconv.Itoa(found) + "\nBRH:" + strconv.Itoa(hit) + "\n")
	}
	return unlisted
}
