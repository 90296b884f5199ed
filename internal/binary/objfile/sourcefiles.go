package objfile

import (
	"fmt"

	"github.com/cairnprof/cairn/internal/bytecur"
)

// SourceFiles has the names of source files that the scopes of a module refer to. It is not
// safe for concurrent use.
type SourceFiles struct {
	units map[uint64]*unit // by offset in .debug_line
	names map[sourceFile]string
}

// sourceFile identifies a file by its number in a unit.
type sourceFile struct {
	unit  uint64
	split *unit // the table that contains it, if that is not in .debug_line
	index int
}

// SourceFiles reads the file lists of all units. Like Lines it reads the module or its
// separate debug file, and returns ErrNoDebug if neither has any.
func (f *File) SourceFiles() (*SourceFiles, error) {
	from, err := f.withLines()
	if err != nil {
		return nil, err
	}
	if from != f {
		defer from.Close()
	}
	s := &SourceFiles{units: map[uint64]*unit{}, names: map[sourceFile]string{}}
	err = from.eachLineUnit(func(off int64, u *unit, _ *bytecur.Cursor) error {
		s.units[uint64(off)] = u
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: .debug_line: %w", from.path, err)
	}
	return s, nil
}

// Caller returns the file of the call of an inlined scope, or "" if it is not known.
func (s *SourceFiles) Caller(scope *Scope) string {
	return s.name(sourceFile{uint64(scope.Unit), scope.files, int(scope.CallFile)})
}

// Definition returns the file that has the definition of a scope's function, or "" if it is not known.
func (s *SourceFiles) Definition(scope *Scope) string {
	d := &scope.decl
	if !d.known {
		return ""
	}
	return s.name(sourceFile{uint64(d.unit), d.files, int(d.index)})
}

// name returns the name of a file, or "" if it is not known.
func (s *SourceFiles) name(key sourceFile) string {
	name, ok := s.names[key]
	u := key.split
	if u == nil {
		u = s.units[key.unit]
	}
	if !ok && u != nil && key.index < len(u.names) {
		name = u.path(u.names[key.index])
		s.names[key] = name
	}
	return name
}
