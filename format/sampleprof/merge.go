package sampleprof

import "errors"

// Merger sums profiles.
type Merger struct {
	sum   File
	known map[string]*Samples // by context
	files int
}

// Errors of Merger.Add.
var (
	ErrContexts = errors.New("some profiles have contexts, and others none")
	ErrKeys     = errors.New("some profiles are keyed by pseudo probes, and others by lines")
)

// Add adds a profile, whose samples it takes over. Of functions whose checksum is
// another one than before nothing is added; Add returns how many there are.
// Attributes are those of the first profile that has the function.
func (m *Merger) Add(f *File) (differ int, err error) {
	switch {
	case m.files == 0:
		m.sum.HasContexts, m.known = f.HasContexts, map[string]*Samples{}
	case len(f.Contexts) == 0 || len(m.sum.Contexts) == 0: // nothing to be mixed with
	case f.HasContexts != m.sum.HasContexts:
		return 0, ErrContexts
	case f.probes() != m.sum.probes():
		return 0, ErrKeys
	}
	m.files++
	if len(m.sum.Contexts) == 0 {
		m.sum.HasContexts = f.HasContexts
	}
	for _, c := range f.Contexts {
		name := c.name()
		if s := m.known[name]; s != nil {
			differ += s.Add(c.Samples)
			continue
		}
		m.known[name] = c.Samples
		m.sum.Contexts = append(m.sum.Contexts, c)
	}
	return differ, nil
}

// Sum returns the sum of what was added.
func (m *Merger) Sum() *File { return &m.sum }

// probes reports whether a profile is keyed by pseudo probes.
func (f *File) probes() bool {
	for _, c := range f.Contexts {
		if c.Samples.Probes {
			return true
		}
	}
	return false
}
