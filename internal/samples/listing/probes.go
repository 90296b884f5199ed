package listing

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/cairnprof/cairn/format/pseudoprobe"
	"github.com/cairnprof/cairn/internal/binary/objfile"
)

// Probes are the pseudo probes of a program.
type Probes struct {
	funcs *pseudoprobe.Descriptions
	table *pseudoprobe.Table
}

// WriteDescriptions prints the functions of a program that have pseudo probes, if there are any.
func WriteDescriptions(w io.Writer, p *objfile.Program) error {
	if len(p.Probes) == 0 || len(p.Probed) == 0 {
		return nil
	}
	funcs, err := pseudoprobe.ReadDescriptions(p.Probed)
	if err != nil {
		return fmt.Errorf("%s: .pseudo_probe_desc: %w", p.Path, err)
	}
	out := bufio.NewWriter(w)
	(&Probes{funcs: funcs}).writeDescriptions(out)
	return out.Flush()
}

// ReadProbes reads the probes of a program: all, or those of the functions with the given names.
// It returns nil if there are none.
func ReadProbes(p *objfile.Program, functions []string) (*Probes, error) {
	if len(p.Probes) == 0 || len(p.Probed) == 0 {
		return nil, nil
	}
	funcs, err := pseudoprobe.ReadDescriptions(p.Probed)
	if err != nil {
		return nil, fmt.Errorf("%s: .pseudo_probe_desc: %w", p.Path, err)
	}
	starts := map[uint64]uint64{}
	for i := range p.Symbols {
		if p.Symbols[i].Func {
			starts[pseudoprobe.GUID(p.Symbols[i].Name)] = p.Symbols[i].Addr
		}
	}
	o := pseudoprobe.Options{Start: func(guid uint64) uint64 { return starts[guid] }}
	if len(functions) > 0 {
		var wanted []uint64
		for _, name := range functions {
			wanted = append(wanted, pseudoprobe.GUID(name))
		}
		o.Keep = func(guid uint64) bool { return slices.Contains(wanted, guid) }
	}
	table, err := pseudoprobe.Read(p.Probes, o)
	if err != nil {
		return nil, fmt.Errorf("%s: .pseudo_probe: %w", p.Path, err)
	}
	return &Probes{funcs, table}, nil
}

// writeDescriptions prints the functions that have probes.
func (p *Probes) writeDescriptions(w *bufio.Writer) {
	fmt.Fprintln(w, "Pseudo Probe Desc:")
	for guid, f := range p.funcs.All() {
		fmt.Fprintf(w, "GUID: %d Name: %s\nHash: %d\n", guid, f.Name, f.Checksum)
	}
}

// kinds are the names of kinds of probes.
var kinds = map[pseudoprobe.Kind]string{pseudoprobe.Block: "Block", pseudoprobe.IndirectCall: "IndirectCall", pseudoprobe.DirectCall: "DirectCall"}

// write prints the probes at an address.
func (p *Probes) write(w *bufio.Writer, addr uint64) {
	for _, i := range p.table.Between(addr, addr) {
		probe := &p.table.Probes[i]
		c := &p.table.Copies[probe.Copy]
		fmt.Fprintf(w, " [Probe]:\tFUNC: %s Index: %d  ", p.funcs.Name(c.GUID), probe.ID)
		if probe.Discriminator != 0 {
			fmt.Fprintf(w, "Discriminator: %d  ", probe.Discriminator)
		}
		fmt.Fprintf(w, "Type: %s  ", kinds[probe.Kind])
		if c.Inlined() {
			w.WriteString("Inlined: ")
			p.writeCallers(w, c)
		}
		w.WriteByte('\n')
	}
}

// writeCallers prints the calls that a copy was inlined at, outermost first.
func (p *Probes) writeCallers(w *bufio.Writer, c *pseudoprobe.Copy) {
	parent := &p.table.Copies[c.Parent]
	if parent.Inlined() {
		p.writeCallers(w, parent)
		w.WriteByte(' ')
	}
	fmt.Fprintf(w, "@ %s:%d", p.funcs.Name(parent.GUID), c.Site)
}
