package linkorder

import (
	"reflect"
	"strings"
	"testing"
)

func TestRenderData(t *testing.T) {
	t.Parallel()
	data := []Datum{
		{Symbol: "table", Section: ".rodata"},
		{Symbol: "vtable", Section: ".data.rel.ro"},
		{Symbol: "counter", Section: ".data"},
		{Symbol: "buffer", Section: ".bss"},
		{Symbol: "cold", Section: ".rodata.cold"},
		{Symbol: "other", Section: ".got"},
		{Symbol: "# no name", Section: ".data"},
		{Symbol: "", Section: ".data"},
		{Symbol: "counter", Section: ".data"},
	}
	for _, tc := range []struct {
		format Format
		want   string
	}{
		{FormatLLD, "# data\ntable\nvtable\ncounter\nbuffer\ncold\nother\n"},
		{FormatGold, "# data\n.rodata.table\n.data.rel.ro.vtable\n.data.rel.ro.local.vtable\n.data.counter\n.data.rel.counter\n.data.rel.local.counter\n.bss.buffer\n.rodata.cold\n"},
	} {
		if got := string(RenderData(tc.format, data)); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.format, got, tc.want)
		}
	}
}

func TestRenderDataNone(t *testing.T) {
	t.Parallel()
	if got := RenderData(FormatLLD, []Datum{{Symbol: "", Section: ".data"}}); got != nil {
		t.Errorf("got %q for data without names", got)
	}
	const want = "# data\n.data.rel.ro.x\n.data.rel.ro.local.x\n.data.x\n.data.rel.x\n.data.rel.local.x\n.rodata.x\n.bss.x\n"
	if got := string(RenderData(FormatGold, []Datum{{Symbol: "x"}})); got != want {
		t.Errorf("of no known section: got %q, want %q", got, want)
	}
}

func TestParseData(t *testing.T) {
	t.Parallel()
	sectioned := []Datum{{"table", ".rodata"}, {"vtable", ".data.rel.ro"}, {"rel", ".data"}, {"counter.0", ".data"}, {"buffer", ".bss"}}
	var symbols []Datum
	for _, d := range sectioned {
		symbols = append(symbols, Datum{Symbol: d.Symbol})
	}
	for _, tc := range []struct {
		name, text string
		want       []Datum
	}{
		{"lld", string(RenderData(FormatLLD, sectioned)), symbols},
		{"gold", string(RenderData(FormatGold, sectioned)), sectioned},
		{"behind functions", "main\nhelper\n# data\n# a comment\n\n  table \r\ntable\n", symbols[:1]},
		{"a dot and no symbol", "# data\n.data.\n", []Datum{{Symbol: ".data."}}},
		{"functions alone", "main\nhelper\n", nil},
		{"a mark alone", "main\n# data\n", nil},
		{"empty", "", nil},
	} {
		got, err := ParseData([]byte(tc.text))
		if !reflect.DeepEqual(got, tc.want) || (err != nil) != (tc.want == nil) {
			t.Errorf("%s: got %v, %v, want %v", tc.name, got, err, tc.want)
		}
		if err != nil && !strings.Contains(err.Error(), "cairn order --data") {
			t.Errorf("%s: the error does not say what to do: %v", tc.name, err)
		}
	}
}
