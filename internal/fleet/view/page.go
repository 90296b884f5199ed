package view

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/profile/packages"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/report/webpage"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// shown is how many functions of a list are on the page; the JSON has all.
const shown = 100

var style = ":root{color-scheme:light dark;" + webpage.Light + "}@media(prefers-color-scheme:dark){:root{" + webpage.Dark + "}}" + `
body{margin:0 auto;padding:1.5rem;max-width:72rem;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.4rem;margin:0 0 .3rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.3rem 0;max-width:50rem}
a{color:var(--accent)}.soft{color:var(--soft)}nav{margin-bottom:1rem}
table{border-collapse:collapse}th,td{padding:.25rem 1.6rem .25rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--faint)}
th{font-weight:600;color:var(--soft)}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}.wide{overflow-x:auto}
meter{width:8rem;height:.8rem}meter::-webkit-meter-optimum-value{background:var(--meter)}meter::-moz-meter-bar{background:var(--meter)}svg{display:block}svg rect{fill:var(--meter)}
`

// page is a page as it is written. It is not made by html/template: if the program reaches text/template, which calls
// methods by their names, the linker keeps every exported method of every type, which was a tenth of the program.
type page struct{ bytes.Buffer }

// markup is text that is HTML already.
type markup string

// add writes format with args. All of them are escaped but markup and numbers.
func (p *page) add(format string, args ...any) {
	for i, arg := range args {
		switch arg.(type) {
		case markup, int, int64, uint64, float64:
		default:
			args[i] = webpage.Escape(fmt.Sprint(arg))
		}
	}
	fmt.Fprintf(p, format, args...)
}

// begin writes the head of the page.
func (p *page) begin(title string) {
	p.add(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>%s</title><style>%s</style></head><body>
`, title, markup(style))
}

// table begins a table. Columns whose name begins with # are numbers.
func (p *page) table(columns ...string) {
	p.add(`<div class="wide"><table><tr>`)
	for _, c := range columns {
		if name, ok := strings.CutPrefix(c, "#"); ok {
			p.add(`<th class="n">%s</th>`, name)
		} else {
			p.add(`<th>%s</th>`, c)
		}
	}
	p.add("</tr>\n")
}

func (p *page) endTable() { p.add("</table></div>\n") }

// end writes the page to w.
func (p *page) end(w io.Writer) error {
	p.add("</body></html>\n")
	_, err := p.WriteTo(w)
	return err
}

// kilobytes is a size of code; one of less than a kilobyte is no 0.0 KB.
func kilobytes(n uint64) string {
	if n > 0 && n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f KB", float64(n)/1000)
}
func percent(x float64) string  { return fmt.Sprintf("%.1f %%", 100*x) }
func day(ns int64) string       { return date(int32(ns / 86_400e9)) }
func short(build string) string { return build[:min(12, len(build))] }
func shortName(s string) string { return report.Shorten(new(report.Names).Show(s), 120) }

// address is the address of a build below a path.
func address(path, program, build string) string {
	return path + url.PathEscape(program) + "@" + url.PathEscape(build)
}

// meter draws a of b.
func meter(a, b int) markup {
	return markup(fmt.Sprintf(`<meter value="%g"></meter>`, float64(a)/float64(max(1, b))))
}

// date returns a number of days since 1970 as a date (Howard Hinnant's civil_from_days). The package is pure, and so
// does not import time.
func date(day int32) string {
	z := int64(day) + 719468
	era := z / 146097
	doe := z % 146097
	yoe := (doe - doe/1460 + doe/36524 - doe/146096) / 365
	doy := doe - (365*yoe + yoe/4 - yoe/100)
	mp := (5*doy + 2) / 153
	d, m, y := doy-(153*mp+2)/5+1, mp+3, yoe+era*400
	if m > 12 {
		m, y = m-12, y+1
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, m, d)
}

// bars draws the uploads of the last days up to the newest one.
func bars(days []tally.Day) markup {
	const width, height, last = 4, 24, 30
	if len(days) == 0 {
		return ""
	}
	newest, most := days[len(days)-1].Day, uint64(1)
	for _, d := range days {
		if newest-d.Day < last {
			most = max(most, d.Files)
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg width="%d" height="%d" role="img" aria-label="uploads of %d days up to %s, at most %d a day">`, last*width, height, last, date(newest), most)
	for _, d := range days {
		if age := newest - d.Day; age < last {
			h := max(1, int(d.Files*height/most))
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%d" height="%d"><title>%s: %d</title></rect>`, (last-1-age)*width, height-h, width-1, h, date(d.Day), d.Files)
		}
	}
	b.WriteString("</svg>")
	return markup(b.String())
}

// program is the builds of a program, the newest first.
type program struct {
	Name   string
	Builds []tally.Build
}

// WriteIndex writes a page with programs and builds. after is the position of the next page, "" if there is none.
func WriteIndex(w io.Writer, builds []tally.Build, notes []string, after string) error {
	var programs []program
	for _, b := range builds { // by program
		if n := len(programs); n == 0 || programs[n-1].Name != b.Program {
			programs = append(programs, program{Name: b.Program})
		}
		p := &programs[len(programs)-1]
		p.Builds = append(p.Builds, b)
	}
	var p page
	p.begin("cairn: programs")
	p.add("<h1>Programs</h1>\n")
	for _, note := range notes {
		p.add("<p><strong>%s</strong></p>\n", note)
	}
	p.add("<p class=\"soft\"><a href=\"/v1/builds\">JSON</a> · <a href=\"/metrics\">metrics</a></p>\n")
	for _, prog := range programs {
		stablesort.Func(prog.Builds, func(a, b tally.Build) int { return int(min(1, max(-1, b.First-a.First))) })
		p.builds(&prog)
	}
	if len(programs) == 0 {
		p.add(`<p>There are no uploads yet. Send the map of a program, then what its runs left:</p>
<p><code>cairn push --map app raws --to URL</code></p>
`)
	}
	if after != "" {
		p.add(`<p><a href="/?after=%s">More builds</a></p>`, url.QueryEscape(after))
	}
	return p.end(w)
}

// builds writes the builds of a program.
func (p *page) builds(prog *program) {
	if prog.Name != "" {
		p.add("<h2>%s</h2>\n", prog.Name)
	} else {
		p.add("<h2>Builds without a map</h2>\n<p>Their raw files wait. Send the map of each build: <code>cairn push --map PROGRAM --to URL</code></p>\n")
	}
	p.table("Build", "First seen", "Last upload", "#Runs", "#Waiting", "#Logs", "Uploads, 30 days")
	for _, b := range prog.Builds {
		p.add("<tr><td>")
		if prog.Name != "" {
			p.add(`<a href="%s"><code>%s</code></a>`, address("/view/", prog.Name, b.Build), short(b.Build))
		} else {
			p.add(`<code>%s</code>`, short(b.Build))
		}
		p.add(`</td><td>%s</td><td>%s</td><td class="n">%d</td><td class="n">%d</td><td class="n">`, day(b.First), day(b.Last), b.Runs, b.Waiting)
		if b.Logs > 0 {
			p.add(`<a href="/v1/logs/%s">%d</a>`, url.PathEscape(b.Build), b.Logs)
		} else {
			p.add("0")
		}
		p.add("</td><td>%s</td></tr>\n", bars(b.Days))
	}
	p.endTable()
}

// Write writes the page of a report.
func (r *Report) Write(w io.Writer) error {
	var p page
	p.begin(r.Program)
	p.add("<nav><a href=\"/\">All programs</a></nav>\n<h1>%s</h1>\n<p class=\"soft\">Build <code>%s</code>", r.Program, r.Build)
	if r.Functions > 0 {
		p.add(` · <a href="%s">profile (.mip)</a>`, address("/", r.Program, r.Build))
	}
	p.add(" · <a href=\"%s\">JSON</a></p>\n", address("/v1/view/", r.Program, r.Build))
	if r.Functions > 0 {
		p.coverage(r)
	} else {
		p.add("<p>There are logs of this build, and no raw files.</p>\n")
	}
	p.scenarios(r)
	p.spikes(r)
	p.change(r.Change)
	if len(r.Startup) > 0 {
		p.add("<h2>Order of start</h2>\n<p class=\"soft\">Functions that at least half of the runs execute, by mean position of the first execution.</p>\n")
		p.functions(r.Startup)
	}
	p.packages(r.Packages)
	if r.Functions > 0 {
		p.add("<h2>Functions that never ran</h2>\n")
		if len(r.Never) > 0 {
			p.add("<p>%s, the largest first.</p>\n", report.Plural(len(r.Never), "function"))
			p.functions(r.Never)
		} else {
			p.add("<p>Every function ran.</p>\n")
		}
	}
	return p.end(w)
}

func (p *page) coverage(r *Report) {
	p.add("<p>%d of %s ran in %s: %s of the functions, %s of %s of code.</p>\n", r.Executed, report.Plural(r.Functions, "function"), report.Plural(int(r.Runs), "run"),
		percent(float64(r.Executed)/float64(r.Functions)), kilobytes(r.Reached), kilobytes(r.Bytes))
	if r.Unknown > 0 {
		p.add("<p>Of %s it is not known whether they ran: they have no probes, or were inlined and then removed.</p>\n", report.Plural(r.Unknown, "more function"))
	}
	p.add("<h2>Coverage by share of runs</h2>\n")
	p.table("Runs that execute it", "#Functions", "", "#Code")
	for _, b := range r.Bands {
		p.add("<tr><td>%s</td><td class=\"n\">%d</td><td>%s</td><td class=\"n\">%s</td></tr>\n", b.Label, b.Functions, meter(b.Functions, r.Functions), kilobytes(b.Bytes))
	}
	p.endTable()
}

func (p *page) scenarios(r *Report) {
	if len(r.Scenarios) == 0 {
		return
	}
	p.add("<h2>Coverage by scenario</h2>\n<p class=\"soft\">Of the runs whose traces are kept, a uniform sample.</p>\n")
	p.table("Scenario", "#Runs", "#Functions", "")
	for _, s := range r.Scenarios {
		p.add("<tr><td>")
		if s.Name != "" {
			p.add("%s", s.Name)
		} else {
			p.add(`<span class="soft">not given</span>`)
		}
		p.add("</td><td class=\"n\">%d</td><td class=\"n\">%d</td><td>%s</td></tr>\n", s.Runs, s.Functions, meter(s.Functions, r.Functions))
	}
	p.endTable()
}

func (p *page) spikes(r *Report) {
	if len(r.Spikes) == 0 {
		return
	}
	p.add("<h2>Worst spikes</h2>\n")
	p.table("Function", "#Spikes", "#Processes", "#Median", "#99 %", "#Worst", "")
	for _, s := range r.Spikes {
		p.add(`<tr><td><code>%s</code></td><td class="n">%d</td><td class="n">%d</td>`, shortName(s.Function), s.Count, s.Logs)
		for _, ns := range []uint64{s.Median, s.P99, s.Worst} {
			p.add(`<td class="n">%s</td>`, report.Duration(ns, report.Nanoseconds))
		}
		p.add("<td><a href=\"/v1/logs/%s/%s\">log</a></td></tr>\n", url.PathEscape(r.Build), url.PathEscape(s.Log))
	}
	p.endTable()
	if r.Next != "" {
		p.add(`<p><a href="%s?after=%s">More functions with spikes</a></p>`, address("/view/", r.Program, r.Build), url.QueryEscape(r.Next))
	}
}

func (p *page) change(c *Change) {
	if c == nil {
		return
	}
	p.add("<h2>New since build <code>%s</code></h2>\n<p>%s added, %d removed; %d that no run executed there run now.</p>\n",
		short(c.Before), report.Plural(len(c.Added), "function"), len(c.Removed), len(c.Reached))
	if len(c.Added) > 0 {
		p.functions(c.Added)
	}
	if len(c.Reached) > 0 {
		p.add("<p>Run now:</p>\n")
		p.functions(c.Reached)
	}
}

// packages writes the first packages of a list, unless all code is of one.
func (p *page) packages(list []packages.Package) {
	if len(list) < 2 {
		return
	}
	p.add("<h2>Packages by code that never ran</h2>\n")
	p.table("Package", "#Functions", "#Ran", "#Code", "#Never ran")
	for _, k := range list[:min(shown, len(list))] {
		p.add("<tr><td><code>%s</code></td><td class=\"n\">%d</td><td class=\"n\">%d</td><td class=\"n\">%s</td><td class=\"n\">%s</td></tr>\n",
			k.Name, k.Functions, k.Ran, kilobytes(k.Bytes), kilobytes(k.Unused()))
	}
	p.endTable()
	p.more(len(list) - shown)
}

// more writes how many functions of a list are not on the page.
func (p *page) more(n int) {
	if n > 0 {
		p.add("<p class=\"soft\">and %d more, in the JSON</p>\n", n)
	}
}

// functions writes the first functions of a list.
func (p *page) functions(list []Function) {
	p.table("Function", "#Size", "#Runs", "#Share")
	for _, f := range list[:min(shown, len(list))] {
		p.add("<tr><td><code>%s</code>", shortName(f.Name))
		if f.File != "" {
			p.add(` <span class="soft">%s</span>`, f.File)
		}
		if f.Absent != "" {
			p.add(` <span class="soft">(%s)</span>`, f.Absent)
		}
		p.add("</td><td class=\"n\">%d B</td><td class=\"n\">%d</td><td class=\"n\">%s</td></tr>\n", f.Bytes, f.Runs, percent(f.Share))
	}
	p.endTable()
	p.more(len(list) - shown)
}
