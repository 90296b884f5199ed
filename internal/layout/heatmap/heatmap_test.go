package heatmap

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cairnprof/cairn/internal/golden"
)

// layout makes n pages of which every third is touched, backwards.
func layout(label string, n int) Layout {
	l := Layout{Label: label}
	steps := n / 3
	for i := range n {
		p := Page{Addr: 0x1000 * uint64(i+1), Funcs: []string{fmt.Sprintf("f%d(int)", i), "operator<"}, More: i % 3}
		if i%3 == 1 && i/3 < steps {
			p.Step, p.First = steps-i/3, fmt.Sprintf("std::vector<T%d>::at", i)
		}
		l.Pages = append(l.Pages, p)
	}
	for t := range steps {
		l.Curve = append(l.Curve, t+1)
	}
	return l
}

func document(n int) *Document {
	before, after := layout("before", n), layout("after", n)
	least := make([]int, len(after.Curve))
	for t := range least {
		least[t] = (t + 3) / 3
	}
	return &Document{Binary: "a&b", PageSize: 4096, Scenarios: []Scenario{
		{Name: "open <file>", Layouts: []Layout{before, after}, Least: least},
		{Name: "alone", Layouts: []Layout{after}, Least: least},
	}}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	d := document(24)
	for name, write := range map[string]func(io.Writer) error{
		"compare.svg":   func(w io.Writer) error { return WriteSVG(w, d, 0) },
		"scenario.html": func(w io.Writer) error { return WriteHTML(w, d) },
	} {
		var got bytes.Buffer
		if err := write(&got); err != nil {
			t.Fatal(err)
		}
		golden.Compare(t, "testdata/"+name, got.Bytes())
	}
}

// element is any element of a picture.
type element struct {
	XMLName  xml.Name
	Class    string    `xml:"class,attr"`
	X        string    `xml:"x,attr"`
	Y        string    `xml:"y,attr"`
	Width    string    `xml:"width,attr"`
	D        string    `xml:"d,attr"`
	Children []element `xml:",any"`
}

// TestSizes checks that a picture of any number of pages is well-formed XML, has a square for
// each page inside of the picture, and is not too large to open.
func TestSizes(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 7, 100, 109, 573, 4096, 20000} {
		d := document(n)
		for i := range d.Scenarios {
			var b bytes.Buffer
			if err := WriteSVG(&b, d, i); err != nil {
				t.Fatal(err)
			}
			if limit := 100_000 + 700*n; b.Len() > limit {
				t.Errorf("%d pages: %d bytes, more than %d", n, b.Len(), limit)
			}
			var svg element
			if err := xml.Unmarshal(b.Bytes(), &svg); err != nil {
				t.Fatalf("%d pages: %v", n, err)
			}
			touched, empty := 0, 0
			for _, e := range svg.Children {
				switch e.Class {
				case "page":
					touched++
					x, _ := strconv.Atoi(e.X)
					side, _ := strconv.Atoi(e.Width)
					if side < 1 || x < margin+labelWidth || x+side > margin+innerWidth {
						t.Fatalf("%d pages: a square of %d at %d", n, side, x)
					}
				case "page empty":
					empty += strings.Count(e.D, "M")
				}
			}
			k := len(d.Scenarios[i].Layouts)
			if touched != k*(n/3) || touched+empty != k*n {
				t.Errorf("%d pages, %d layouts: %d squares touched and %d not", n, k, touched, empty)
			}
		}
	}
}

// TestEscape checks names as a compiler or a malicious file may contain them.
func TestEscape(t *testing.T) {
	t.Parallel()
	evil := "</title><script>alert(1)</script>\"'&\x00\x1b\xff"
	d := &Document{Binary: evil, PageSize: 1000, Scenarios: []Scenario{{Name: evil, Layouts: []Layout{{
		Label: evil, Pages: []Page{{Step: 1, First: evil, Funcs: []string{evil}}}, Curve: []int{1},
	}}}, {Name: evil, Layouts: []Layout{{}}}}}
	var svg, page bytes.Buffer
	if err := WriteSVG(&svg, d, 0); err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(svg.Bytes(), new(element)); err != nil {
		t.Error(err)
	}
	if err := WriteHTML(&page, d); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{svg.String(), page.String()} {
		if strings.Contains(text, "<script>alert") || strings.ContainsAny(text, "\x00\x1b") || !utf8.ValidString(text) {
			t.Error("a name got through")
		}
	}
	if strings.Contains(page.String(), "http") && strings.Count(page.String(), "http") != strings.Count(page.String(), "http://www.w3.org/2000/svg") {
		t.Error("the page refers to the network")
	}
}

// The scale grows lighter from end to end, which is what makes it readable
// without colours.
func TestColour(t *testing.T) {
	t.Parallel()
	if first, last := colour(-1), colour(2); first != "#440154" || last != "#fde725" {
		t.Errorf("the ends are %s and %s", first, last)
	}
	before := -1.0
	for i := range shades {
		var r, g, b float64
		var rgb [3]int
		if _, err := fmt.Sscanf(colour(float64(i)/(shades-1)), "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
			t.Fatal(err)
		}
		r, g, b = float64(rgb[0]), float64(rgb[1]), float64(rgb[2])
		if light := 0.2126*r + 0.7152*g + 0.0722*b; light <= before {
			t.Errorf("shade %d is not lighter than the one before", i)
		} else {
			before = light
		}
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{
		0: "[0]", 1: "[0 1]", 6: "[0 1 2 3 4 5 6]", 7: "[0 2 4 6]", 343: "[0 50 100 150 200 250 300]", 2341: "[0 500 1000 1500 2000]",
	} {
		if got := fmt.Sprint(ticks(n)); got != want {
			t.Errorf("ticks(%d) = %s, want %s", n, got, want)
		}
	}
}
