package spikes

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"

	"github.com/cairnprof/cairn/internal/report/webpage"
)

// The page's style, its body and its script.
var (
	//go:embed web/page.css
	pageStyle string
	//go:embed web/body.html
	pageBody string
	//go:embed web/picture.js
	pictureScript string
	//go:embed web/calls.js
	callsScript string
	//go:embed web/page.js
	pageScript string
)

// Page is the content of a page.
type Page struct {
	Title       string
	Reach       []string    // sentences
	Notes       []string    // what is not ranked: freezes, and waits for work
	Spikes      []*Object   // in the order of the list
	Timelines   []*Timeline // of the spikes, nil for those with unknown calls; may be empty
	Left        int         // stacks that the page leaves out
	Suggestions []Suggestion
}

// The colours of bars of the peak and of stalls, in addition to those of all pages.
const (
	lightPeak = ";--peak:#f2a65a;--peak-ink:#1c2024;--blind:#b9bec5;--tick:#aab2bb"
	darkPeak  = ";--peak:#b5651d;--peak-ink:#fff;--blind:#59616a;--tick:#59616a"
)

// PictureScript returns the script that draws spikes, for pages with other content: bars, span, draw and
// drawCalls are its functions.
func PictureScript() string { return pictureScript + callsScript }

// WriteHTML writes a page for a browser, which loads nothing else.
func WriteHTML(w io.Writer, p *Page) error {
	type suggestion struct {
		Function string `json:"function"`
		File     string `json:"file"`
		Markup   string `json:"markup"`
		Why      string `json:"why"`
	}
	type spike struct {
		*Object
		Text     string    `json:"text"` // of the interval
		Function string    `json:"function"`
		Place    string    `json:"place"`
		Shades   []int     `json:"shades"` // of the stack
		Times    []string  `json:"times"`  // of the stack
		Timeline *Timeline `json:"timeline,omitempty"`
		Hues     []int     `json:"hues,omitempty"` // of the timeline's functions
	}
	doc := struct {
		Title       string       `json:"title"`
		Reach       []string     `json:"reach"`
		Notes       []string     `json:"notes"`
		Left        int          `json:"left"`
		Spikes      []spike      `json:"spikes"`
		Suggestions []suggestion `json:"suggestions"`
	}{p.Title, p.Reach, p.Notes, p.Left, []spike{}, []suggestion{}}
	for i, o := range p.Spikes {
		s := spike{Object: o, Text: rangeText(o.Interval), Function: o.Peak.Function, Place: at(o.Peak.File, o.Peak.Line)}
		for i := range o.Stack {
			f := &o.Stack[i]
			s.Shades = append(s.Shades, webpage.Shade(f.Function))
			text := ""
			if f.SoFar != nil {
				text = rangeText(*f.SoFar)
			}
			s.Times = append(s.Times, text)
		}
		if i < len(p.Timelines) && p.Timelines[i] != nil {
			s.Timeline = p.Timelines[i]
			for _, name := range s.Timeline.Names {
				s.Hues = append(s.Hues, webpage.Shade(name))
			}
		}
		doc.Spikes = append(doc.Spikes, s)
	}
	for _, s := range p.Suggestions {
		doc.Suggestions = append(doc.Suggestions, suggestion{s.Place.Function, at(s.Place.File, s.Place.Line), s.Markup, s.Why})
	}
	var data bytes.Buffer
	if err := json.NewEncoder(&data).Encode(doc); err != nil { // it escapes < and >
		return fmt.Errorf("page of spikes: %w", err)
	}
	return webpage.Write(w, &webpage.Page{
		Title: p.Title,
		Light: webpage.Light + webpage.BarVariables(&webpage.LightBars) + lightPeak,
		Dark:  webpage.Dark + webpage.BarVariables(&webpage.DarkBars) + darkPeak,
		Style: pageStyle, Body: pageBody, Data: bytes.TrimSpace(data.Bytes()), Script: pictureScript + callsScript + pageScript,
	})
}
