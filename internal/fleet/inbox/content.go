package inbox

import (
	"bytes"
	"fmt"
	"path"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/prof"
)

// Bounds of what is in one file.
const (
	MaxPlaces  = 1 << 14 // of the spikes in a log
	MaxFuncs   = 1 << 20 // of a map
	MaxModules = 1 << 12 // of a log
	MaxText    = 255     // bytes of the name of a program or a library
	MaxBuildID = 64      // bytes
)

// checkID returns an error if a build id or the name of a program is too long.
func checkID(id prof.BuildID, program string) error {
	if len(id) > MaxBuildID {
		return fmt.Errorf("%w: a build id of %d bytes, at most %d are allowed", bundle.ErrLimit, len(id), MaxBuildID)
	}
	if len(program) > MaxText {
		return fmt.Errorf("%w: a name of %d bytes, at most %d are allowed", bundle.ErrLimit, len(program), MaxText)
	}
	return nil
}

// checkMap returns an error if a map has more than a collector takes.
func checkMap(m *prof.Map) error {
	if len(m.Funcs)+len(m.Absent) > MaxFuncs {
		return fmt.Errorf("%w: a map of %d functions, at most %d are allowed", bundle.ErrLimit, len(m.Funcs)+len(m.Absent), MaxFuncs)
	}
	return checkID(m.BuildID, m.Module)
}

// checkLog returns an error if a log has more than a collector takes, and counts the places of its spikes.
func checkLog(it *Item, modules []tracelog.Module) error {
	if len(modules) > MaxModules {
		return fmt.Errorf("%w: a log with %d modules, at most %d are allowed", bundle.ErrLimit, len(modules), MaxModules)
	}
	for i := range modules {
		if err := checkID(prof.BuildID(modules[i].BuildID), path.Base(modules[i].Path)); err != nil {
			return err
		}
	}
	if it.Kind != Spikes {
		return nil
	}
	log, err := tracelog.Open(bytes.NewReader(it.Data), int64(len(it.Data)), it.Name)
	if err != nil {
		return err
	}
	type place struct {
		module int
		pc     uint64
	}
	places := make(map[place]bool)
	add := func(pc, time uint64) error {
		places[place{log.ModuleIndex(pc, time), pc}] = true
		if len(places) > MaxPlaces {
			return fmt.Errorf("%w: a log with spikes at more than %d places", bundle.ErrLimit, MaxPlaces)
		}
		return nil
	}
	for e, err := range log.Episodes() {
		if err == nil && e.Flags&tracelog.Snapshot == 0 && len(e.Stack) > 0 {
			err = add(e.Stack[0].PC, e.Time)
		}
		if err != nil {
			return err
		}
	}
	for n, err := range log.Seen() {
		if err == nil && n.PC != 0 {
			err = add(n.PC, n.Last)
		}
		if err != nil {
			return err
		}
	}
	it.Places = len(places)
	return nil
}
