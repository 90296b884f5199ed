package ptrace

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// mapping is a line of a process's memory map.
type mapping struct {
	lo, hi uint64
	prot   uint64 // PROT_READ and so on
	name   string
}

func (s *session) mappings() ([]mapping, error) {
	path := fmt.Sprintf("/proc/%d/maps", s.pid)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var maps []mapping
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var m mapping
		var perms string
		if _, err := fmt.Sscanf(lines.Text(), "%x-%x %s", &m.lo, &m.hi, &perms); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		for i, bit := range []uint64{syscall.PROT_READ, syscall.PROT_WRITE, syscall.PROT_EXEC} {
			if i < len(perms) && perms[i] != '-' {
				m.prot |= bit
			}
		}
		if f := strings.Fields(lines.Text()); len(f) > 5 {
			m.name = f[5]
		}
		maps = append(maps, m)
	}
	return maps, nil
}

// holdsAny reports whether any of the ranges, moved by bias, is in m.
func (m *mapping) holdsAny(ranges [][2]uint64, bias uint64) bool {
	for _, r := range ranges {
		if r[0]+bias < m.hi && m.lo < r[1]+bias {
			return true
		}
	}
	return false
}
