package orderfile

import (
	"fmt"
	"io"

	"github.com/cairnprof/cairn/internal/binary/machine"
	"github.com/cairnprof/cairn/internal/binary/objfile"
	"github.com/cairnprof/cairn/internal/binary/x86"
	"github.com/cairnprof/cairn/internal/layout/datatrace"
	"github.com/cairnprof/cairn/internal/layout/linkorder"
	"github.com/cairnprof/cairn/internal/logfile"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/verb"
)

// orderDataJSON describes the traces of --data, and the estimated effect of an order by them.
type orderDataJSON struct {
	Objects  int    `json:"objects"`
	Bytes    uint64 `json:"bytes"`
	PagesNow int    `json:"pages_now"`
	Pages    int    `json:"pages"`
}

// checkData finds out whether data can be ordered.
func (f *Choice) checkData(format linkorder.Format) error {
	switch {
	case len(f.Data) == 0:
		return nil
	case f.Link.Binary == "":
		return verb.Usagef("--data needs the program that ran, with symbols, beside the profile")
	case !format.HasData():
		return verb.Usagef("--data: order files for data are of the formats lld and gold only")
	}
	return nil
}

// orderData returns the lines of an order file for variables and constants, and its effect.
func (f *Choice) orderData(s *verb.Streams, format linkorder.Format) ([]byte, *orderDataJSON, error) {
	if len(f.Data) == 0 {
		return nil, nil, nil
	}
	program, err := dataProgram(f.Link.Binary)
	if err != nil {
		return nil, nil, err
	}
	r, err := datatrace.New(program)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.Link.Binary, err)
	}
	for _, path := range f.Data {
		if err := readDataTrace(s, r, path); err != nil {
			return nil, nil, err
		}
	}
	objects := r.Order()
	sum := &orderDataJSON{Objects: len(objects), Bytes: r.Bytes()}
	sum.PagesNow, sum.Pages = r.Pages()
	list := make([]linkorder.Datum, len(objects))
	for i, o := range objects {
		list[i] = linkorder.Datum{Symbol: o.Name, Section: program.Sections[o.Section].Name}
	}
	return linkorder.RenderData(format, list), sum, nil
}

func readDataTrace(s *verb.Streams, r *datatrace.Recorder, path string) error {
	in, err := logfile.OpenStream(path, s.In)
	if err != nil {
		return err
	}
	defer in.Close()
	defer verb.Working(s, "reading %s", in.Name)()
	if err := r.Read(in); err != nil {
		return fmt.Errorf("%s: %w", in.Name, err)
	}
	return nil
}

// dataProgram reads the required data of the traced program.
func dataProgram(path string) (*datatrace.Program, error) {
	bin, err := objfile.Open(path)
	if err != nil {
		return nil, err
	}
	defer bin.Close()
	if err := bin.Machine().Only("its accesses to data are recorded", machine.X86_64); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	data, err := bin.Data()
	if err != nil {
		return nil, err
	}
	p := &datatrace.Program{Entry: data.Entry}
	const enough = 10 // instructions, to distinguish a program from the dynamic linker
	for code := data.Code; len(p.Lengths) < enough; {
		inst, err := x86.Decode(code)
		if err != nil {
			return nil, fmt.Errorf("%s: the code at its entry point is not known: only programs can be recorded", path)
		}
		p.Lengths = append(p.Lengths, int(inst.Len))
		code = code[inst.Len:]
	}
	for _, s := range data.Sections {
		p.Sections = append(p.Sections, datatrace.Section{Name: s.Name, Addr: s.Addr, Size: s.Size})
	}
	for _, o := range data.Objects {
		p.Objects = append(p.Objects, datatrace.Object{Name: o.Name, Addr: o.Addr, Size: o.Size, Section: o.Section})
	}
	return p, nil
}

// print prints the effect of an order of data.
func (d *orderDataJSON) print(w io.Writer) {
	fmt.Fprintf(w, "%s with data in order, %s bytes: %s pages of data touched now, about %s ordered\n",
		report.Plural(d.Objects, "object"), report.Count(d.Bytes), report.Count(d.PagesNow), report.Count(d.Pages))
}
