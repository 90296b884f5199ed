package symbolize

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/lazyregexp"
)

// fdrObjects is the number of objects that a flight data recorder log can distinguish: it
// stores four bits of their number.
const fdrObjects = 16

// Spec assigns a file to an object of a log.
type Spec struct {
	Object   uint8
	Numbered bool // the object was specified; otherwise it is the main program, or Path is a list
	Path     string
}

// numbered matches a spec with a number, or a line of a list.
var (
	numbered = lazyregexp.New(`^([0-9]+)=(.*)$`)
	listed   = lazyregexp.New(`^\s*([0-9]+)\s+(\S.*?)(?:\s+0[xX][0-9a-fA-F]+)?\s*$`)
)

// ParseSpec parses the argument of --map: PROGRAM, FILE.yaml, the path of a list of objects,
// or NUMBER=FILE. A file whose name looks like NUMBER=FILE can be given with the prefix ./.
func ParseSpec(text string) (Spec, error) {
	m := numbered().FindStringSubmatch(text)
	if m == nil {
		if text == "" {
			return Spec{}, fmt.Errorf("the file of a map has no name")
		}
		return Spec{Path: text}, nil
	}
	n, err := objectNumber(m[1])
	if err != nil {
		return Spec{}, fmt.Errorf("%s: %w", text, err)
	}
	if m[2] == "" {
		return Spec{}, fmt.Errorf("%s: no file given for object %d (NUMBER=FILE)", text, n)
	}
	return Spec{Object: n, Numbered: true, Path: m[2]}, nil
}

// IsSpec reports whether an argument that may also be a log is one that ParseSpec takes and that is no program: a
// NUMBER=FILE that is not the name of a file, a map in YAML, or a list of objects. Logs may be in YAML as well.
func IsSpec(text string, isLog func(head []byte) bool) bool {
	st, err := os.Stat(text)
	if err != nil {
		return numbered().MatchString(text)
	}
	if !st.Mode().IsRegular() { // a pipe is read once
		return false
	}
	head, err := readHead(text)
	return err == nil && !isLog(head) && (looksLikeYAML(head) || looksLikeList(head))
}

func objectNumber(text string) (uint8, error) {
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n > math.MaxUint8 {
		return 0, fmt.Errorf("objects have numbers from 0 to 255, not %s", text)
	}
	return uint8(n), nil
}

// Program has the given objects of a running program.
type Program struct {
	Objects []*Object // ascending by number
	Funcs   calllog.Funcs
	// Notes are messages for the user, prefixed with the path of the file that they refer to.
	Notes []string
}

// LoadAll loads the files of all specs, and of the lists among them. Two files for the same
// object are an error. Errors are prefixed with the path.
func LoadAll(specs []Spec) (*Program, error) {
	specs, err := expand(specs)
	if err != nil {
		return nil, err
	}
	p := &Program{Funcs: calllog.Funcs{}}
	paths := map[uint8]string{}
	for _, s := range specs {
		if other, ok := paths[s.Object]; ok {
			return nil, fmt.Errorf("%s and %s are both object %d: give shared objects as NUMBER=FILE", other, s.Path, s.Object)
		}
		paths[s.Object] = s.Path
	}
	for _, n := range slices.Sorted(maps.Keys(paths)) {
		o, err := Load(paths[n], n)
		if err != nil {
			return nil, err
		}
		for _, text := range o.Notes {
			p.Notes = append(p.Notes, o.Path+": "+text)
		}
		maps.Copy(p.Funcs, o.Funcs)
		p.Objects = append(p.Objects, o)
	}
	if n := len(p.Objects); n > 0 && p.Objects[n-1].Number >= fdrObjects {
		p.Notes = append(p.Notes, fmt.Sprintf("object numbers go up to %d: logs of the flight data recorder distinguish only %d objects, so object %d is recorded as object 0, and so on; basic logs distinguish all",
			p.Objects[n-1].Number, fdrObjects, fdrObjects))
	}
	return p, nil
}

// expand replaces lists by their content.
func expand(specs []Spec) ([]Spec, error) {
	var out []Spec
	for _, s := range specs {
		if !s.Numbered {
			head, err := readHead(s.Path)
			if err != nil {
				return nil, err
			}
			if looksLikeList(head) {
				list, err := readList(s.Path)
				if err != nil {
					return nil, err
				}
				out = append(out, list...)
				continue
			}
		}
		out = append(out, s)
	}
	return out, nil
}

// looksLikeList reports whether a file with this beginning is a list of objects.
func looksLikeList(head []byte) bool {
	for line := range bytes.Lines(head) {
		if text := bytes.TrimSpace(line); len(text) > 0 && text[0] != '#' {
			return listed().Match(line)
		}
	}
	return false
}

// readList reads a list of objects: lines with a number, a path, and an optional offset, which
// some programs print. A relative path is relative to the list if that file exists, otherwise
// to the working directory.
func readList(path string) ([]Spec, error) {
	data, err := readText(path)
	if err != nil {
		return nil, err
	}
	var specs []Spec
	line := 0
	for text := range strings.Lines(string(data)) {
		line++
		if t := strings.TrimSpace(text); t == "" || t[0] == '#' {
			continue
		}
		m := listed().FindStringSubmatch(text)
		if m == nil {
			return nil, fmt.Errorf("%s: line %d: not the number and the path of an object: %.40q", path, line, strings.TrimSpace(text))
		}
		n, err := objectNumber(m[1])
		if err != nil {
			return nil, fmt.Errorf("%s: line %d: %w", path, line, err)
		}
		file := m[2]
		if beside := filepath.Join(filepath.Dir(path), file); !filepath.IsAbs(file) {
			if _, err := os.Stat(beside); err == nil {
				file = beside
			}
		}
		specs = append(specs, Spec{Object: n, Numbered: true, Path: file})
	}
	return specs, nil
}
