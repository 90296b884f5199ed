package coverage

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// WriteLCOV writes files as an lcov tracefile. Records are, for each file:
//
//	SF:path
//	FN:line,name     for each function
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
func WriteLCOV(w io.Writer, files []SourceFile) error {
	b := bufio.NewWriter(w)
	b.WriteString("TN:\n")
	for i := range files {
		writeRecord(b, &files[i])
	}
	return b.Flush()
}

func writeRecord(b *bufio.Writer, f *SourceFile) {
	field := func(key string, n uint64, rest string) {
		b.WriteString(key)
		b.WriteString(strconv.FormatUint(n, 10))
		b.WriteString(rest)
		b.WriteByte('\n')
	}
	b.WriteString("SF:" + oneLine(f.File) + "\n")
	var funcsHit, lines, linesHit uint64
	for _, fn := range f.Funcs {
		field("FN:", uint64(fn.Line), ","+oneLine(fn.Name))
	}
	for _, fn := range f.Funcs {
		field("FNDA:", fn.Runs, ","+oneLine(fn.Name))
		if fn.Runs > 0 {
			funcsHit++
		}
	}
	field("FNF:", uint64(len(f.Funcs)), "")
	field("FNH:", funcsHit, "")
	for _, l := range f.Lines {
		if l.State == Unknown {
			continue
		}
		field("DA:", uint64(l.Number), ","+strconv.FormatUint(l.Runs, 10))
		lines++
		if l.State == Ran {
			linesHit++
		}
	}
	field("LF:", lines, "")
	field("LH:", linesHit, "")
	b.WriteString("end_of_record\n")
}

// oneLine prevents a name from a file of unknown origin from adding records.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "?", "\r", "?").Replace(s)
}
