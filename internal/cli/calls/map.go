package calls

import (
	"cmp"
	"io"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/format/xraymap"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/symbolize"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// XRayMapFlags are the flags of cairn map for a program with XRay's instrumentation.
type XRayMapFlags struct {
	verb.DisplayFlags
	xray   bool
	format string
}

// Register adds the flags to a command.
func (f *XRayMapFlags) Register(c *cobra.Command) {
	c.Flags().BoolVar(&f.xray, "xray", false, "print the instrumentation map even if the binary has cairn's own map")
	c.Flags().StringVar(&f.format, "format", "", "print the instrumentation map in this `format`: text, yaml or json")
	verb.Values(c, "format", "text", "yaml", "json")
	c.Flags().BoolVar(&f.Json, "json", false, "the same as --format json")
	f.RegisterNames(c)
	f.RegisterColor(c)
}

// Wanted reports whether the instrumentation map of the file at path is requested: it exists
// and there is no map of cairn, or flags select it.
func (f *XRayMapFlags) Wanted(path string) (bool, error) {
	if f.Json {
		if f.format != "" && f.format != "json" {
			return false, verb.Usagef("--json and --format %s exclude each other", f.format)
		}
		f.format = "json"
	}
	switch f.format {
	case "", "text", "yaml", "json":
	default:
		return false, verb.Usagef("--format %s: must be text, yaml or json", f.format)
	}
	if f.xray || f.format != "" {
		return true, nil
	}
	if !symbolize.Holds(path) {
		return false, nil
	}
	im, err := objfile.OpenImage(path)
	if err != nil {
		return true, nil // a map in YAML
	}
	defer im.Close()
	return !im.Has(wire.MapSection) && !im.Has(wire.OldMapSection), nil
}

// Run prints the instrumentation map of the file at path to output.
func (f *XRayMapFlags) Run(s *verb.Streams, path, output string) error {
	done := verb.Working(s, "reading the instrumentation map of %s", path)
	o, err := symbolize.Load(path, 0)
	done()
	if err != nil {
		return err
	}
	for _, text := range o.Notes {
		verb.Note(s, "%s: %s", path, text)
	}
	path = cmp.Or(output, "-")
	return verb.WriteFile(s, path, func(w io.Writer) error {
		switch f.format {
		case "yaml":
			return xraymap.WriteYAML(w, f.named(o))
		case "json":
			return xrayMapJSON(w, o)
		}
		var style report.Style // a file has neither colours nor a width
		if path == "-" {
			if style, err = f.Style(s); err != nil {
				return err
			}
		}
		return f.table(w, o, style)
	})
}

// named returns the map with the names of its functions; functions without a name have their
// address, as in llvm-xray.
func (f *XRayMapFlags) named(o *symbolize.Object) *xraymap.Map {
	names := f.Names()
	names.LLVM = true
	m := &xraymap.Map{Sleds: slices.Clone(o.Map.Sleds)}
	for i := range m.Sleds {
		sled := &m.Sleds[i]
		sled.Name = names.Show(o.Funcs.Name(calllog.FuncID(sled.Func)))
	}
	return m
}

func (f *XRayMapFlags) table(w io.Writer, o *symbolize.Object, style report.Style) error {
	t := report.NewTable(">ID", ">ADDRESS", "KIND", "ALWAYS", ">VERSION", "~FUNCTION", "?~SOURCE")
	names := f.Names()
	for i := range o.Map.Sleds {
		sled := &o.Map.Sleds[i]
		id := calllog.FuncID(sled.Func)
		fn, always := o.Funcs[id], "no"
		if sled.Always {
			always = "yes"
		}
		t.Row(strconv.FormatUint(uint64(id), 10), hexAddress(sled.Address), sled.Kind.String(), always, strconv.Itoa(int(sled.Version)),
			names.Show(o.Funcs.Name(id)), report.SourceText(fn.File, fn.Line))
	}
	return t.Write(w, style)
}

func hexAddress(addr uint64) string { return "0x" + strconv.FormatUint(addr, 16) }

func xrayMapJSON(w io.Writer, o *symbolize.Object) error {
	type sledJSON struct {
		Address uint64 `json:"address"`
		Kind    string `json:"kind"`
		Always  bool   `json:"always"`
		Version uint8  `json:"version"`
	}
	type functionJSON struct {
		ID        uint32     `json:"id"`
		Address   uint64     `json:"address"`
		Name      string     `json:"name"`
		Demangled string     `json:"demangled"`
		File      string     `json:"file,omitempty"`
		Line      int        `json:"line,omitempty"`
		Sleds     []sledJSON `json:"sleds"`
	}
	var names report.Names
	functions := []functionJSON{}
	at := map[uint32]int{}
	for _, f := range o.Map.Functions() {
		fn := o.Funcs[calllog.FuncID(f.ID)]
		at[f.ID] = len(functions)
		functions = append(functions, functionJSON{
			ID: f.ID, Address: f.Address, Name: fn.Name, Demangled: names.Show(fn.Name), File: fn.File, Line: fn.Line,
		})
	}
	for i := range o.Map.Sleds {
		sled := &o.Map.Sleds[i]
		f := &functions[at[sled.Func]]
		f.Sleds = append(f.Sleds, sledJSON{sled.Address, sled.Kind.String(), sled.Always, sled.Version})
	}
	return report.WriteJSON(w, struct {
		Object    string         `json:"object"`
		Functions []functionJSON `json:"functions"`
	}{filepath.Base(o.Path), functions})
}
