package heatmap

import (
	"fmt"
	"io"

	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/report/webpage"
)

// pageStyle is the style of the page around the pictures.
const pageStyle = `:root{color-scheme:light dark}
body{margin:0 auto;padding:12px;max-width:1100px;background:#fff;color:#1c2024;font:14px system-ui,-apple-system,"Segoe UI","DejaVu Sans",sans-serif}
.cairn{width:100%;height:auto;display:block}
nav{padding:6px 24px}
select{font:inherit;padding:3px 6px;max-width:100%}
@media (prefers-color-scheme:dark){body{background:#15181c;color:#e8eaed}}
`

// script shows the selected scenario. Without scripting all are shown, one below the other.
const script = `var choice=document.getElementById("scenario");
function show(){document.querySelectorAll("section").forEach(function(s,i){s.hidden=i!=choice.selectedIndex})}
choice.addEventListener("change",show);document.querySelector("nav").hidden=false;show();
`

// WriteHTML writes all scenarios of d as one self-contained page for a browser.
func WriteHTML(w io.Writer, d *Document) error {
	var b writer
	b.printf("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
	b.printf("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	b.printf("<title>Pages of %s</title>\n<style>%s%s</style>\n</head>\n<body>\n", webpage.Escape(d.Binary), pageStyle, style)
	if len(d.Scenarios) > 1 {
		b.printf("<nav hidden><label>Scenario <select id=\"scenario\">\n")
		for i := range d.Scenarios {
			b.printf("<option>%s</option>\n", webpage.Escape(d.option(&d.Scenarios[i])))
		}
		b.printf("</select></label></nav>\n")
	}
	for i := range d.Scenarios {
		b.printf("<section>\n")
		d.draw(&b, &d.Scenarios[i], false)
		b.printf("</section>\n")
	}
	if len(d.Scenarios) > 1 {
		b.printf("<script>%s</script>\n", script)
	}
	b.printf("</body>\n</html>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// option returns the text of the selector for a scenario.
func (d *Document) option(s *Scenario) string {
	last := &s.Layouts[len(s.Layouts)-1]
	if len(s.Layouts) > 1 {
		return fmt.Sprintf("%s: %s, before %s", s.Name, report.Plural(last.touched(), "page"), report.Count(s.Layouts[0].touched()))
	}
	return fmt.Sprintf("%s: %s", s.Name, report.Plural(last.touched(), "page"))
}
