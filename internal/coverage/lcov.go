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
//	FNDA:hits,name   for each function
//	FNF:functions
//	FNH:functions hit
//	DA:line,hits     for each line with instructions
//	LF:lines
//	LH:lines hit
//	end_of_record
//
// Names stay mangled: demangled ones hold commas, which end fields here, and
// genhtml --demangle-cpp demangles them itself.
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
	var funcsHit, linesHit uint64
	for _, fn := range f.Funcs {
		field("FN:", uint64(fn.Line), ","+oneLine(fn.Name))
	}
	for _, fn := range f.Funcs {
		field("FNDA:", fn.Hits, ","+oneLine(fn.Name))
		if fn.Hits > 0 {
			funcsHit++
		}
	}
	field("FNF:", uint64(len(f.Funcs)), "")
	field("FNH:", funcsHit, "")
	for _, l := range f.Lines {
		field("DA:", uint64(l.Number), ","+strconv.FormatUint(l.Hits, 10))
		if l.Hits > 0 {
			linesHit++
		}
	}
	field("LF:", uint64(len(f.Lines)), "")
	field("LH:", linesHit, "")
	b.WriteString("end_of_record\n")
}

// oneLine keeps a name from a file of unknown origin from adding records.
func oneLine(s string) string {
	return strings.NewReplacer("\n", "?", "\r", "?").Replace(s)
}
