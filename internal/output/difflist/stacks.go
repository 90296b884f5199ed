package difflist

import (
	"fmt"
	"io"
	"math"

	"github.com/cairnprof/cairn/internal/calls/stackdiff"
	"github.com/cairnprof/cairn/internal/report"
)

// value formats a value of the key for tables.
func (d *Logs) value(key stackdiff.Key, x float64) string {
	if key == stackdiff.Calls {
		return report.Decimal(x)
	}
	return report.Duration(uint64(math.Round(x)), d.Unit)
}

// change formats the difference of a value for tables.
func (d *Logs) change(key stackdiff.Key, x float64) report.Cell {
	c := report.Cell{Color: report.Green}
	if x > 0 {
		c.Color = report.Red
	}
	switch {
	case key != stackdiff.Calls:
		c.Text = report.DurationChange(int64(math.Round(x)), d.Unit)
	case x > 0:
		c.Text = "+" + report.Decimal(x)
	default:
		c.Text = report.Decimal(x)
	}
	if x == 0 {
		c.Color = report.Plain
	}
	return c
}

// changeRatio returns the second of two values as a multiple of the first.
func changeRatio(a, b float64) string {
	switch {
	case a == 0 && b == 0:
		return ""
	case a == 0:
		return "new"
	case b == 0:
		return "gone"
	case b/a < 0.01:
		return "<0.01x"
	}
	return report.Decimal(b/a) + "x"
}

// Limits of a stack in a table: functions, and columns.
const (
	maxStackFuncs = 24
	maxStackName  = 60
)

// stackText is a stack in one line, the innermost function last.
func (d *Logs) stackText(node int) string {
	text := ""
	for n := range maxStackFuncs {
		at := &d.Nodes[node]
		name := report.Shorten(d.Show.Show(d.Names[at.Func]), maxStackName)
		if n > 0 {
			name += " > "
		}
		if text = name + text; at.Parent < 0 {
			return text
		}
		node = at.Parent
	}
	return fmt.Sprintf("(%s) > %s", report.Plural(d.Nodes[node].Depth+1, "function"), text)
}

// shortenStack removes the beginning of a stack, because the changed part is at its end.
func shortenStack(s string, limit int) string {
	if runes := []rune(s); limit > 0 && len(runes) > limit {
		return "…" + string(runes[len(runes)-limit+1:])
	}
	return s
}

// WriteText lists the functions and stacks that changed.
func (d *Logs) WriteText(w io.Writer, style report.Style) error {
	if err := d.sums().Write(w, style); err != nil {
		return err
	}
	section := func(title string, color report.Color, n int, t *report.Table) error {
		if n == 0 {
			return nil
		}
		fmt.Fprintf(w, "\n%s: %s\n", style.Paint(color, title), report.Count(n))
		if err := t.Write(w, style); err != nil {
			return err
		}
		if more := n - t.Len(); more > 0 {
			fmt.Fprintln(w, style.Paint(report.Dim, fmt.Sprintf("  and %s more (--top 0 lists all)", report.Count(more))))
		}
		return nil
	}
	key := [...]string{"self time", "total time", "calls"}[d.Key]
	funcs, moved := d.ByChange(d.Key), d.Moved(d.Key)
	fresh, gone := d.Branches(stackdiff.New, d.Key), d.Branches(stackdiff.Gone, d.Key)
	if err := section("functions whose "+key+" changed", report.Bold, len(funcs), d.funcTable(funcs)); err != nil {
		return err
	}
	if err := section("stacks whose "+key+" changed", report.Bold, len(moved), d.movedTable(moved)); err != nil {
		return err
	}
	if err := section("new stacks", report.Blue, len(fresh), d.branchTable(fresh)); err != nil {
		return err
	}
	return section("stacks that are gone", report.Amber, len(gone), d.branchTable(gone))
}

// sums returns a table of the totals of both sides.
func (d *Logs) sums() *report.Table {
	t := report.NewTable("", ">A", ">B", ">change", ">ratio")
	for _, row := range []struct {
		name string
		key  stackdiff.Key
	}{{"time", stackdiff.Total}, {"calls", stackdiff.Calls}} {
		a, b := row.key.Of(&d.A), row.key.Of(&d.B)
		t.Add(report.Text(row.name), report.Text(d.value(row.key, a)), report.Text(d.value(row.key, b)), d.change(row.key, b-a), report.Text(changeRatio(a, b)))
	}
	var a, b int
	for i := range d.Nodes {
		if d.Nodes[i].Kind != stackdiff.New {
			a++
		}
		if d.Nodes[i].Kind != stackdiff.Gone {
			b++
		}
	}
	x := d.change(stackdiff.Calls, float64(b-a))
	t.Add(report.Text("stacks"), report.Text(report.Count(a)), report.Text(report.Count(b)), report.Cell{Text: x.Text}, report.Text(changeRatio(float64(a), float64(b))))
	return t
}

// upTo returns how many rows of n a list has.
func (d *Logs) upTo(n int) int {
	if d.Limit > 0 {
		return min(n, d.Limit)
	}
	return n
}

// changeTable is an empty table of changes.
func changeTable(last report.Column) *report.Table {
	t := report.NewTable("", ">A", ">B", ">change", ">ratio")
	t.Columns = append(t.Columns, last)
	return t
}

func (d *Logs) addChange(t *report.Table, a, b float64, what string) {
	t.Add(report.Cell{}, report.Text(d.value(d.Key, a)), report.Text(d.value(d.Key, b)), d.change(d.Key, b-a),
		report.Text(changeRatio(a, b)), report.Text(what))
}

func (d *Logs) funcTable(funcs []stackdiff.Func) *report.Table {
	t := changeTable(report.Column{Title: "function", Shrink: report.Shorten})
	for i := range funcs[:d.upTo(len(funcs))] {
		f := &funcs[i]
		d.addChange(t, d.Key.Of(&f.A), d.Key.Of(&f.B), d.Show.Show(d.Names[f.Func]))
	}
	return t
}

func (d *Logs) movedTable(moved []int) *report.Table {
	t := changeTable(report.Column{Title: "stack", Shrink: shortenStack})
	for _, i := range moved[:d.upTo(len(moved))] {
		n := &d.Nodes[i]
		d.addChange(t, d.Key.Of(&n.A), d.Key.Of(&n.B), d.stackText(i))
	}
	return t
}

func (d *Logs) branchTable(branches []stackdiff.Branch) *report.Table {
	t := report.NewTable("", ">total", ">calls", ">stacks")
	t.Columns = append(t.Columns, report.Column{Title: "stack", Shrink: shortenStack})
	for i := range branches[:d.upTo(len(branches))] {
		b := &branches[i]
		t.Row("", d.value(stackdiff.Total, b.Total), report.Decimal(b.Calls), report.Count(b.Stacks), d.stackText(b.Node))
	}
	return t
}

// sideJSON is one side of a change in JSON.
type sideJSON struct {
	Calls float64 `json:"calls"`
	Total float64 `json:"total"`
	Self  float64 `json:"self"`
}

type (
	stacksFuncJSON struct {
		Name      string   `json:"name"`
		Demangled string   `json:"demangled"`
		Kind      string   `json:"kind"`
		A         sideJSON `json:"a"`
		B         sideJSON `json:"b"`
	}
	stacksNodeJSON struct {
		Function int      `json:"function"` // index
		Caller   *int     `json:"caller"`   // index of a stack
		Kind     string   `json:"kind"`
		A        sideJSON `json:"a"`
		B        sideJSON `json:"b"`
	}
	stacksLogsJSON struct {
		Logs []string `json:"logs"`
		sideJSON
	}
	// stacksJSON has lists of indexes, the largest change first.
	stacksJSON struct {
		Unit      string           `json:"unit"`
		A         stacksLogsJSON   `json:"a"`
		B         stacksLogsJSON   `json:"b"`
		Functions []stacksFuncJSON `json:"functions"`
		Stacks    []stacksNodeJSON `json:"stacks"`
		Changed   []int            `json:"changed_functions"`
		Moved     []int            `json:"moved_stacks"`
		New       []int            `json:"new_stacks"`
		Gone      []int            `json:"gone_stacks"`
	}
)

// WriteJSON writes all stacks as a tree: as separate lists, their size would be quadratic in
// their depth.
func (d *Logs) WriteJSON(w io.Writer) error {
	logs := func(side *Side, v stackdiff.Values) stacksLogsJSON {
		j := stacksLogsJSON{sideJSON: sideJSON(v)}
		for _, log := range side.Set.Logs {
			j.Logs = append(j.Logs, log.Info().File)
		}
		return j
	}
	out := stacksJSON{
		Unit: d.Unit, A: logs(&d.SideA, d.A), B: logs(&d.SideB, d.B),
		Functions: make([]stacksFuncJSON, len(d.Funcs)), Stacks: make([]stacksNodeJSON, len(d.Nodes)), Changed: []int{},
		New: d.tops(stackdiff.New), Gone: d.tops(stackdiff.Gone),
	}
	for i := range d.Funcs {
		f := &d.Funcs[i]
		name := d.Names[f.Func]
		out.Functions[i] = stacksFuncJSON{name, d.Show.Show(name), f.Kind.String(), sideJSON(f.A), sideJSON(f.B)}
	}
	for i := range d.Nodes {
		n := &d.Nodes[i]
		out.Stacks[i] = stacksNodeJSON{Function: n.Func, Kind: n.Kind.String(), A: sideJSON(n.A), B: sideJSON(n.B)}
		if n.Parent >= 0 {
			out.Stacks[i].Caller = &n.Parent
		}
	}
	for _, f := range d.ByChange(d.Key) {
		out.Changed = append(out.Changed, f.Func)
	}
	moved := d.Moved(d.Key)
	out.Changed = out.Changed[:d.upTo(len(out.Changed))]
	out.Moved = append([]int{}, moved[:d.upTo(len(moved))]...)
	return report.WriteJSON(w, out)
}

// tops returns the stacks that branches of a kind begin with.
func (d *Logs) tops(kind stackdiff.Kind) []int {
	list := []int{}
	for _, b := range d.Branches(kind, d.Key) {
		list = append(list, b.Node)
	}
	return list[:d.upTo(len(list))]
}
