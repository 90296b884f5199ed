package ptrace

import (
	"fmt"
	"os"
	"syscall"

	"github.com/cairnprof/cairn/format/procmaps"
)

func (s *session) mappings() ([]procmaps.Mapping, error) {
	path := fmt.Sprintf("/proc/%d/maps", s.pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	maps, err := procmaps.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return maps, nil
}

// protection returns the rights of a mapping in the format of mmap and mprotect.
func protection(m *procmaps.Mapping) (prot uint64) {
	for i, has := range []bool{m.Read, m.Write, m.Exec} {
		if has {
			prot |= []uint64{syscall.PROT_READ, syscall.PROT_WRITE, syscall.PROT_EXEC}[i]
		}
	}
	return prot
}

// holdsAny reports whether any of the ranges, moved by bias, is in m.
func holdsAny(m *procmaps.Mapping, ranges [][2]uint64, bias uint64) bool {
	for _, r := range ranges {
		if r[0]+bias < m.Hi && m.Lo < r[1]+bias {
			return true
		}
	}
	return false
}
