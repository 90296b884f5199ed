package linkorder

import (
	"bytes"
	"errors"
	"strings"
)

// Datum is a variable or constant in a ranked list.
type Datum struct {
	Symbol  string
	Section string // of the linked program, "" if not known
}

// dataInputs are the names of input sections with -fdata-sections, before the dot and the
// symbol, by output section.
var dataInputs = []struct {
	output string
	inputs []string
}{
	{".data.rel.ro", []string{".data.rel.ro", ".data.rel.ro.local"}},
	{".data", []string{".data", ".data.rel", ".data.rel.local"}},
	{".rodata", []string{".rodata"}},
	{".bss", []string{".bss"}},
}

// dataMark is the line before the data of an order file. It is a comment to lld and gold.
const dataMark = "# data"

// errNoData is the error of ParseData for an order file of functions alone.
var errNoData = errors.New(`no order of data: cairn order --data writes one, after a line "` + dataMark + `"`)

// HasData reports whether order files of the format can list data.
func (f Format) HasData() bool { return f == FormatLLD || f == FormatGold }

// RenderData writes the lines of an order file for data, for lld or gold, after a comment that ParseData finds.
// Names that the format cannot represent are omitted.
func RenderData(f Format, data []Datum) []byte {
	var out bytes.Buffer
	seen := map[string]bool{}
	for _, d := range data {
		lines := []string{d.Symbol}
		if f == FormatGold {
			lines = dataSections(d)
		}
		for _, line := range lines {
			if d.Symbol == "" || !spellable(f, line) || seen[line] {
				continue
			}
			seen[line] = true
			out.WriteString(line + "\n")
		}
	}
	if out.Len() == 0 {
		return nil
	}
	return append([]byte(dataMark+"\n"), out.Bytes()...)
}

func dataSections(d Datum) (names []string) {
	for _, s := range dataInputs {
		if d.Section == "" || d.Section == s.output || strings.HasPrefix(d.Section, s.output+".") {
			for _, in := range s.inputs {
				names = append(names, in+"."+d.Symbol)
			}
			if d.Section != "" {
				return names
			}
		}
	}
	return names
}

// ParseData reads the data of an order file that RenderData wrote for lld or gold. Lines for lld do not name the
// section.
func ParseData(text []byte) ([]Datum, error) {
	var data []Datum
	seen := map[Datum]bool{}
	found := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == dataMark {
			found = true
		}
		if !found || line == "" || line[0] == '#' {
			continue
		}
		if d := parseDatum(line); !seen[d] {
			seen[d] = true
			data = append(data, d)
		}
	}
	if len(data) == 0 {
		return nil, errNoData
	}
	return data, nil
}

// parseDatum reads a symbol, or the name of an input section: the longest prefix that is known, as .data.rel.ro
// begins with .data.
func parseDatum(line string) Datum {
	best, d := "", Datum{Symbol: line}
	for _, s := range dataInputs {
		for _, in := range s.inputs {
			if symbol, ok := strings.CutPrefix(line, in+"."); ok && symbol != "" && len(in) > len(best) {
				best, d = in, Datum{Symbol: symbol, Section: s.output}
			}
		}
	}
	return d
}
