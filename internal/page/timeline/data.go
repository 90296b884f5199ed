package timeline

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/internal/calls/flamegraph"
	"github.com/cairnprof/cairn/internal/page"
	"github.com/cairnprof/cairn/internal/report"
)

// The versions of Summary and Flames.
const (
	summaryVersion = 1
	flamesVersion  = 2
)

// Summary is the part of the time line in the model of a report. The view loads the rest:
//
//	timeline/lane/LANE.bin               the pack of a lane, in a page that is a file
//	timeline/tile/LANE/LEVEL/NUMBER.bin  a tile, of a server
//	timeline/range/FROM/TO/LANES.json    the flame graph of a range, of a server: LANES is "all" or
//	                                     indexes with hyphens between them
type Summary struct {
	Version int      `json:"version"`
	Unit    string   `json:"unit"` // of times: ns or ticks
	End     uint64   `json:"end"`  // times are from 0 to End
	Served  bool     `json:"served"`
	Level   uint8    `json:"level"` // the finest available level
	Top     uint8    `json:"top"`   // the one that has all in a tile
	Limit   string   `json:"limit,omitempty"`
	Notes   []string `json:"notes"`
	Names   []string `json:"names"` // of functions, and of representatives of events
	Shades  []int    `json:"shades"`
	Lanes   []Lane   `json:"lanes"`
	Logs    []string `json:"logs"` // their names
	*Marks
}

// Summary returns the time line's part of a model.
func (x *Index) Summary(served bool, logs []string, marks *Marks) *Summary {
	s := &Summary{
		Version: summaryVersion, Unit: x.unit, End: x.end, Served: served, Top: x.Top(), Notes: append([]string{}, x.notes...),
		Names: x.names, Shades: make([]int, len(x.shades)), Lanes: x.lanes, Logs: logs, Marks: marks,
	}
	for i, shade := range x.shades {
		s.Shades[i] = int(shade)
	}
	if served {
		return s
	}
	var whole bool
	s.Level, whole = x.finest(PackRecords)
	if !whole {
		s.Limit = fmt.Sprintf("Calls shorter than %s are merged in this file, so that it stays small; cairn serve shows each.", report.Duration(1<<s.Level, x.unit))
	}
	return s
}

// PackRecords is how many records a page that is a file has at most.
const PackRecords = 600_000

// finest returns the first level with at most this many records, and whether it is complete.
func (x *Index) finest(most uint64) (level uint8, whole bool) {
	var at [maxLevel + 1]uint64
	for key, d := range x.series {
		for i := range d.chunks {
			at[key.level] += d.chunks[i].records
		}
	}
	sum := uint64(0)
	for level = maxLevel; ; level-- {
		if sum += at[level]; sum > most {
			return level + 1, false
		}
		if level == 0 {
			return 0, true
		}
	}
}

// Packs returns the time line's data for a page in a file.
func (x *Index) Packs() []page.Blob {
	level, _ := x.finest(PackRecords)
	var list []page.Blob
	for lane := range x.lanes {
		list = append(list, page.Blob{Path: fmt.Sprintf("timeline/lane/%d.bin", lane), Write: func(w io.Writer) error {
			return write(w)(x.Pack(lane, level))
		}})
	}
	return list
}

// write returns a function that writes a tile, or the error of computing it.
func write(w io.Writer) func(*Tile, error) error {
	return func(t *Tile, err error) error {
		if err == nil {
			_, err = w.Write(t.Append(nil))
		}
		return err
	}
}

// Find returns the data of a path that the view loads from a server, or false if there is
// none.
func (r *Ranges) Find(ctx context.Context, path string) (page.Blob, bool) {
	rest, ok := strings.CutPrefix(path, "timeline/")
	if !ok {
		return page.Blob{}, false
	}
	parts := strings.Split(rest, "/")
	if len(parts) != 4 {
		return page.Blob{}, false
	}
	last, kind, _ := strings.Cut(parts[3], ".")
	switch parts[0] + "." + kind {
	case "tile.bin":
		n, ok := numbers(parts[1], parts[2], last)
		if !ok || n[0] >= uint64(len(r.index.lanes)) || n[1] > maxLevel {
			return page.Blob{}, false
		}
		return page.Blob{Path: path, Write: func(w io.Writer) error {
			return write(w)(r.index.Tile(int(n[0]), uint8(n[1]), n[2]))
		}}, true
	case "range.json":
		n, ok := numbers(parts[1], parts[2])
		lanes, valid := r.lanes(last)
		if !ok || !valid {
			return page.Blob{}, false
		}
		return page.Blob{Path: path, Write: func(w io.Writer) error {
			g, err := r.Graph(ctx, n[0], n[1], lanes)
			if err != nil {
				return err
			}
			_, err = flamegraph.WriteData(w, g, flamegraph.Options{})
			return err
		}}, true
	}
	return page.Blob{}, false
}

// lanes reads a list of lanes.
func (r *Ranges) lanes(text string) ([]int, bool) {
	if text == "all" {
		return nil, true
	}
	list, ok := numbers(strings.Split(text, "-")...)
	var lanes []int
	for _, n := range list {
		if n >= uint64(len(r.index.lanes)) {
			return nil, false
		}
		lanes = append(lanes, int(n))
	}
	return lanes, ok
}

func numbers(texts ...string) ([]uint64, bool) {
	var list []uint64
	for _, text := range texts {
		n, err := strconv.ParseUint(text, 10, 63)
		if err != nil {
			return nil, false
		}
		list = append(list, n)
	}
	return list, true
}

// Flames is the part of flame graphs in the model of a report; the view loads the rest.
type Flames struct {
	Version int     `json:"version"`
	Graphs  []Flame `json:"graphs"`
}

// Flame is a flame graph.
type Flame struct {
	Title string `json:"title"`
	Path  string `json:"path"` // of the data of package flamegraph
	// Whole says that it has every call of the time line.
	Whole bool `json:"whole,omitempty"`
}

// NewFlames returns no flame graphs.
func NewFlames() *Flames { return &Flames{Version: flamesVersion, Graphs: []Flame{}} }

// Add adds a flame graph, as package flamegraph writes it, and returns the data that the view loads.
func (f *Flames) Add(title string, data []byte) page.Blob {
	path := fmt.Sprintf("flame/%d.json", len(f.Graphs))
	f.Graphs = append(f.Graphs, Flame{Title: title, Path: path})
	return page.Blob{Path: path, Write: func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	}}
}
