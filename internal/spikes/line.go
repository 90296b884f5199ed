package spikes

import (
	"slices"

	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/internal/report"
)

// WaitPlace is where the longest wait of a spike was.
type WaitPlace struct {
	At Place // in the function of the spike: the statement
	// Below are the functions that it called, the outermost first: those that were inlined, and with the stack of the
	// wait those without probes.
	Below []Place
	Addr  Address
}

// waitPlace returns where a spike waited, if that is known: in its own function. Of addresses that were only found
// on the stack, those in other functions, and several in this one, tell nothing.
func (w *Writer) waitPlace(sp *Spike) *WaitPlace {
	if sp.Wait == nil || len(sp.waitAddrs) == 0 {
		return nil
	}
	own := w.Name(sp.Addrs[0], sp.isCall(0))
	found := -1
	for i, a := range sp.waitAddrs {
		loc := w.Name(a, true)
		if functionOf(&loc) != functionOf(&own) || loc.Outer().Line == 0 {
			continue
		}
		if found >= 0 && sp.waitAddrs[found] != a {
			if sp.Wait.On&tracelog.WaitUnwound == 0 {
				return nil
			}
			continue
		}
		found = i
	}
	if found < 0 {
		return nil
	}
	loc := w.Name(sp.waitAddrs[found], true)
	p := &WaitPlace{At: loc.Outer(), Addr: sp.waitAddrs[found], Below: slices.Clone(loc.Places[1:])}
	if sp.Wait.On&tracelog.WaitUnwound != 0 {
		for _, a := range slices.Backward(sp.waitAddrs[:found]) {
			loc := w.Name(a, true)
			p.Below = append(p.Below, loc.Places...)
		}
	}
	return p
}

// waitLines are the lines of where a spike waited, below the line of the call.
func (w *Writer) waitLines(p *WaitPlace, sp *Spike) []line {
	if p == nil {
		return nil
	}
	const most = 6
	var lines []line
	for i, b := range p.Below {
		if i == most {
			break
		}
		lines = append(lines, line{index: "waits in", function: b.Function, file: at(b.File, b.Line), color: report.Dim})
	}
	if len(lines) > 0 && sp.Wait.Longest > 0 {
		lines[0].rest = "the longest wait, " + Duration(sp.Wait.Longest)
	}
	return lines
}
