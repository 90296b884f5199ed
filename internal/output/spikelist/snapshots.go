package spikelist

import (
	"bufio"
	"fmt"

	"github.com/cairnprof/cairn/internal/inputs/spikeset"
	"github.com/cairnprof/cairn/internal/report"
	"github.com/cairnprof/cairn/internal/spikes"
)

// writeSnapshots prints the latest of the stacks that programs requested.
func (f *Choice) writeSnapshots(b *bufio.Writer, t *spikeset.Set) error {
	list := t.Spikes.Snapshots
	left := 0
	if f.Top > 0 && len(list) > f.Top {
		left = len(list) - f.Top
	}
	for _, sp := range list[left:] {
		if err := t.Writer.Spike(b, spikes.Alone(sp), sp); err != nil {
			return err
		}
		b.WriteByte('\n')
	}
	if left > 0 {
		fmt.Fprintf(b, "%s before them (--top 0 shows all)\n\n", report.Plural(left, "snapshot"))
	}
	return nil
}
