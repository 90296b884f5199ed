package view

import (
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/fleet/tally"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/report/webpage"
)

//go:embed page.html
var files embed.FS

// shown is how many functions of a list are on the page; the JSON has all.
const shown = 100

var page = template.Must(template.New("").Funcs(template.FuncMap{
	"style":   func() template.CSS { return template.CSS(style) },
	"plural":  func(n any, what string) string { return plural(n, what) },
	"kb":      func(n uint64) string { return fmt.Sprintf("%.1f KB", float64(n)/1000) },
	"percent": func(x float64) string { return fmt.Sprintf("%.1f %%", 100*x) },
	"part":    func(a, b int) float64 { return float64(a) / float64(max(1, b)) },
	"ns":      func(n uint64) string { return report.Duration(n, report.Nanoseconds) },
	"name":    func(s string) string { return report.Shorten(new(report.Names).Show(s), 120) },
	"short":   func(s string) string { return s[:min(12, len(s))] },
	"first":   func(list []Function) []Function { return list[:min(shown, len(list))] },
	"rest":    func(list []Function) int { return max(0, len(list)-shown) },
	"date":    func(ns int64) string { return date(int32(ns / 86_400e9)) },
	"bars":    bars,
}).ParseFS(files, "page.html"))

var style = ":root{color-scheme:light dark;" + webpage.Light + "}@media(prefers-color-scheme:dark){:root{" + webpage.Dark + "}}" + `
body{margin:0 auto;padding:1.5rem;max-width:72rem;background:var(--paper);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
h1{font-size:1.4rem;margin:0 0 .3rem}h2{font-size:1.1rem;margin:2rem 0 .5rem}p{margin:.3rem 0;max-width:50rem}
a{color:var(--accent)}.soft{color:var(--soft)}nav{margin-bottom:1rem}
table{border-collapse:collapse}th,td{padding:.25rem 1.6rem .25rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--faint)}
th{font-weight:600;color:var(--soft)}.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
code{font:13px ui-monospace,monospace;overflow-wrap:anywhere}.wide{overflow-x:auto}
meter{width:8rem;height:.8rem}meter::-webkit-meter-optimum-value{background:var(--meter)}meter::-moz-meter-bar{background:var(--meter)}svg{display:block}svg rect{fill:var(--meter)}
`

func plural(n any, what string) string {
	switch n := n.(type) {
	case uint64:
		return report.Plural(int(n), what)
	case int:
		return report.Plural(n, what)
	}
	return fmt.Sprint(n, " ", what)
}

// date returns a number of days since 1970 as a date (Howard Hinnant's civil_from_days).
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
func bars(days []tally.Day) template.HTML {
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
	return template.HTML(b.String())
}

// program is the builds of a program, the newest first.
type program struct {
	Name   string
	Builds []tally.Build
}

// WriteIndex writes the page with all programs and builds.
func WriteIndex(w io.Writer, builds []tally.Build, notes []string) error {
	var programs []program
	for _, b := range builds { // by program
		if n := len(programs); n == 0 || programs[n-1].Name != b.Program {
			programs = append(programs, program{Name: b.Program})
		}
		p := &programs[len(programs)-1]
		p.Builds = append(p.Builds, b)
	}
	for i := range programs {
		slices.SortStableFunc(programs[i].Builds, func(a, b tally.Build) int { return int(min(1, max(-1, b.First-a.First))) })
	}
	return page.ExecuteTemplate(w, "index", struct {
		Programs []program
		Notes    []string
	}{programs, notes})
}

// Write writes the page of a report.
func (r *Report) Write(w io.Writer) error { return page.ExecuteTemplate(w, "report", r) }
