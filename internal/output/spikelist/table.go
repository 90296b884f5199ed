package spikelist

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
)

// writeTable prints a line for each function whose own time was too long.
func (f *Choice) writeTable(t *spikeset.Set, style report.Style) error {
	b := bufio.NewWriter(t.Streams.Out)
	rows := t.Spikes.Rows(f.Sort, t.Names.Name)
	left := 0
	if f.Top > 0 && len(rows) > f.Top && !f.Json {
		left = len(rows) - f.Top
		rows = rows[:f.Top]
	}
	if f.Json {
		return writeTableJSON(t.Streams.Out, rows)
	}
	open, _ := t.Spikes.Open(t.Names.Name)
	sure, doubtful := t.Spikes.Alike(open)
	for _, sp := range slices.Concat(sure, doubtful) {
		fmt.Fprintf(b, "open  %s\n", t.Writer.OpenLine(sp))
	}
	if len(open) > 0 {
		b.WriteByte('\n')
	}
	table := report.NewTable(">most", ">self", ">worst", ">calls", ">callers", "~function", "/")
	for i := range rows {
		r := &rows[i]
		place := r.Place.File
		if place == "" {
			place = r.Module
		} else if r.Place.Line > 0 {
			place += ":" + strconv.Itoa(r.Place.Line)
		}
		table.Add(report.Text(spikes.Duration(r.Most)), report.Text(spikes.Duration(r.Self)), report.Text(spikes.Duration(r.Worst)),
			report.Text(report.Count(r.Seen)), report.Text(report.Count(r.Callers)),
			report.Text(r.Place.Function), report.Cell{Text: place, Color: report.Dim})
	}
	if err := table.Write(b, style); err != nil {
		return err
	}
	if left > 0 {
		fmt.Fprintf(b, "%s more (--top 0 shows all)\n", report.Plural(left, "function"))
	}
	if table.Len() == 0 {
		fmt.Fprintln(b, "no spike")
	} else {
		fmt.Fprintln(b, "\nmost: of one call, what no call below explains that took an eighth of it; self: outside all calls below that"+
			"\ntook too long; worst: the longest call; calls: that took too long. Times are lower bounds")
	}
	b.WriteByte('\n')
	writeEnd(t, b, style)
	return b.Flush()
}

// writeEnd prints suggestions and the reach.
func writeEnd(t *spikeset.Set, b *bufio.Writer, style report.Style) {
	const most = 5
	if list := t.Spikes.Suggest(t.Names.Name); len(list) > 0 {
		fmt.Fprintln(b, style.Paint(report.Bold, "suggested marks for calls that may be expected:"))
		for _, sug := range list[:min(most, len(list))] {
			place := sug.Place.File
			if place != "" && sug.Place.Line > 0 {
				place = "  " + place + ":" + strconv.Itoa(sug.Place.Line)
			}
			fmt.Fprintf(b, "  %s%s\n      %s\n      %s\n", report.Printable(sug.Place.Function), style.Paint(report.Dim, report.Printable(place)),
				style.Paint(report.Green, sug.Markup), sug.Why)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintln(b, style.Paint(report.Bold, "what the logs can show:"))
	for _, text := range t.Writer.Explained() {
		fmt.Fprintln(b, "  "+text)
	}
	for _, text := range t.Spikes.Reach().Lines() {
		fmt.Fprintln(b, "  "+text)
	}
}

// rowJSON is a function of the table. Times are lower bounds.
type rowJSON struct {
	Name      string `json:"name"`
	Demangled string `json:"demangled"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	Module    string `json:"module"`
	Most      uint64 `json:"most_ns"`
	Self      uint64 `json:"self_ns"`
	Worst     uint64 `json:"worst_ns"`
	Calls     uint64 `json:"calls"`
	Callers   int    `json:"callers"`
}

// writeTableJSON writes all rows.
func writeTableJSON(w io.Writer, rows []spikes.Row) error {
	list := []rowJSON{}
	for i := range rows {
		r := &rows[i]
		p := &r.Place
		list = append(list, rowJSON{cmp.Or(p.Symbol, p.Function), p.Function, p.File, p.Line, r.Module, r.Most, r.Self, r.Worst, r.Seen, r.Callers})
	}
	return report.WriteJSON(w, struct {
		Functions []rowJSON `json:"functions"`
	}{list})
}
