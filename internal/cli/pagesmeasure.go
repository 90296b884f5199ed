package cli

import (
	"context"
	"errors"

	"github.com/cairnprof/cairn/internal/report"
)

// measurement is what a run of a binary really did.
type measurement struct {
	TextPages   int `json:"text_pages"`   // of its text section, touched
	MinorFaults int `json:"minor_faults"` // of the whole process, with a warm cache
	MajorFaults int `json:"major_faults"` // of the whole process, after its file was dropped from the cache
}

// measurePages runs each binary with the arguments.
func measurePages(context.Context, []string, []string, uint64) ([]measurement, error) {
	return nil, errors.New("--measure: not there yet")
}

// measuredTable sets what was measured beside what was predicted.
func (pm *pageMap) measuredTable() *report.Table {
	return &report.Table{}
}
