package profdata

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Read reads the traces of a profile in text form. Errors name the line. Without
// traces the error is ErrNoTraces.
func Read(data []byte) (*Profile, error) {
	r := reader{rest: string(data)}
	var p *Profile
	for r.next() && strings.HasPrefix(r.text, ":") {
		word := strings.ToLower(strings.TrimSpace(r.text[1:]))
		switch {
		case word == tracesHeader && p != nil:
			return nil, r.errorf("a second list of traces")
		case word == tracesHeader:
			var err error
			if p, err = r.traces(); err != nil {
				return nil, err
			}
		case !slices.Contains(headers, word):
			return nil, r.errorf("header %.40q is not that of a profile (:%s)", r.text, strings.Join(headers, ", :"))
		}
	}
	if p == nil || len(p.Traces) == 0 {
		return nil, ErrNoTraces
	}
	return p, nil
}

// reader iterates over the lines that are neither empty nor comments.
type reader struct {
	rest, text string
	line       int
	ended      bool // with a line break, as all lines that LLVM writes
	names      int
}

// next moves to the next line that is neither empty nor a comment.
func (r *reader) next() bool {
	for r.rest != "" {
		r.text, r.rest, r.ended = strings.Cut(r.rest, "\n")
		r.line++
		r.text = strings.TrimSuffix(r.text, "\r")
		if strings.TrimSpace(r.text) != "" && r.text[0] != '#' {
			return true
		}
	}
	r.text = ""
	return false
}

func (r *reader) errorf(format string, args ...any) error {
	return fmt.Errorf("line %d: %s", r.line, fmt.Sprintf(format, args...))
}

func (r *reader) number(what string) (uint64, error) {
	if !r.next() {
		return 0, r.errorf("truncated: %s should follow", what)
	}
	n, err := strconv.ParseUint(strings.TrimSpace(r.text), 10, 64)
	if err != nil {
		return 0, r.errorf("%.40q should be %s", r.text, what)
	}
	return n, nil
}

func (r *reader) traces() (*Profile, error) {
	n, err := r.number("the number of traces")
	if err != nil {
		return nil, err
	}
	if n > MaxTraces {
		return nil, r.errorf("%d traces, at most %d are allowed", n, MaxTraces)
	}
	p := new(Profile)
	if p.StreamSize, err = r.number("the number of runs that the traces were sampled from"); err != nil {
		return nil, err
	}
	for range n {
		t := Trace{}
		if t.Weight, err = r.number("the weight of a trace"); err != nil {
			return nil, err
		}
		if !r.next() {
			return nil, r.errorf("truncated: the functions of a trace should follow")
		}
		if !r.ended {
			return nil, r.errorf("truncated: the functions of a trace do not end with a line break")
		}
		if r.names += strings.Count(r.text, ","); r.names > MaxNames {
			return nil, r.errorf("more than %d functions in the traces", MaxNames)
		}
		for name := range strings.SplitSeq(r.text, ",") {
			if name = strings.TrimSpace(name); name != "" {
				t.Names = append(t.Names, name)
			}
		}
		if len(t.Names) == 0 {
			return nil, r.errorf("a trace without functions")
		}
		p.Traces = append(p.Traces, t)
	}
	p.StreamSize = max(p.StreamSize, uint64(len(p.Traces)))
	return p, nil
}
