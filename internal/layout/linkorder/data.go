package linkorder

import (
	"bytes"
	"strings"
)

// Datum is a variable or constant in a ranked list.
type Datum struct {
	Symbol  string
	Section string // of the linked program
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

// RenderData writes the lines of an order file for data, for lld or gold. Names that the
// format cannot represent are omitted.
func RenderData(f Format, data []Datum) []byte {
	var out bytes.Buffer
	for _, d := range data {
		lines := []string{d.Symbol}
		if f == FormatGold {
			lines = dataSections(d)
		}
		for _, line := range lines {
			if d.Symbol != "" && spellable(f, line) {
				out.WriteString(line + "\n")
			}
		}
	}
	return out.Bytes()
}

func dataSections(d Datum) (names []string) {
	for _, s := range dataInputs {
		if d.Section == s.output || strings.HasPrefix(d.Section, s.output+".") {
			for _, in := range s.inputs {
				names = append(names, in+"."+d.Symbol)
			}
			return names
		}
	}
	return nil
}
