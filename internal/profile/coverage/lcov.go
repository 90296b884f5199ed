package coverage

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// WriteLCOV writes files as an lcov tracefile, which all versions of lcov read and find
// consistent. It returns the number of functions that the format cannot list, see lcovFuncs. The
// records of a file are:
//
//	SF:path
//	FN:line,name     for each function; see lcovFuncs for FN:line,end,name
//	FNDA:runs,name   for each function
//	FNF:functions
//	FNH:functions hit
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
func WriteLCOV(w io.Writer, files []SourceFile) (unlisted int, err error) {
	b := bufio.NewWriter(w)
	b.WriteString("TN:\n")
	for i := range files {
		unlisted += writeRecord(b, &files[i])
	}
	return unlisted, b.Flush()
}

func writeRecord(b *bufio.Writer, f *SourceFile) (unlisted int) {
	field := func(key string, n uint64, rest string) {
		b.WriteString(key)
		b.WriteString(strconv.FormatUint(n, 10))
		b.WriteString(rest)
		b.WriteByte('\n')
	}
	b.WriteString("SF:" + oneLine(f.File) + "\n")
	var hit uint64
	funcs, unlisted := lcovFuncs(f)
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
	t := f.Tally()
	for _, l := range f.Lines {
		if l.State != Unknown {
			field("DA:", uint64(l.Number), ","+strconv.FormatUint(l.Runs, 10))
		}
	}
	field("LF:", uint64(t.Ran+t.Missed), "")
	field("LH:", uint64(t.Ran), "")
	b.WriteString("end_of_record\n")
	return unlisted
}

// oneLine prevents a name from a file of unknown origin from adding records.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "?", "\r", "?").Replace(s)
}
