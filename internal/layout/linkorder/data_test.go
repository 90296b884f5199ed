package linkorder

import "testing"

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
	}
	for _, tc := range []struct {
		format Format
		want   string
	}{
		{FormatLLD, "table\nvtable\ncounter\nbuffer\ncold\nother\n"},
		{FormatGold, ".rodata.table\n.data.rel.ro.vtable\n.data.rel.ro.local.vtable\n.data.counter\n.data.rel.counter\n.data.rel.local.counter\n.bss.buffer\n.rodata.cold\n"},
	} {
		if got := string(RenderData(tc.format, data)); got != tc.want {
			t.Errorf("%s: got %q, want %q", tc.format, got, tc.want)
		}
	}
}
