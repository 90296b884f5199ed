package xraymap

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// WriteYAML writes the map as llvm-xray extract does, byte for byte: one line for
// each sled, with link-time addresses in all versions. A map with names is written
// as extract -symbolize writes it, if the names are demangled in the same way.
// Typed events, which extract refuses, are "typed-event".
func WriteYAML(w io.Writer, m *Map) error {
	b := bufio.NewWriter(w)
	b.WriteString("---\n")
	for i := range m.Sleds {
		s := &m.Sleds[i]
		fmt.Fprintf(b, "- { id: %d, address: 0x%X, function: 0x%X, kind: %s, always-instrument: %t, function-name: %s",
			s.Func, s.Address, s.Function, s.Kind, s.Always, quote(s.Name))
		if s.Version != 0 {
			fmt.Fprintf(b, ", version: %d", s.Version)
		}
		b.WriteString(" }\n")
	}
	b.WriteString("...\n")
	return b.Flush()
}

// quote writes a scalar with the quotes that LLVM gives it.
func quote(s string) string {
	switch style := quoting(s); style {
	case '\'':
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	case '"':
		return doubleQuote(s)
	}
	return s
}

// quoting returns the quotes that s needs: a single or double one, or 0.
func quoting(s string) byte {
	if s == "" {
		return '\''
	}
	need := byte(0)
	if isBlank(s[0]) || isBlank(s[len(s)-1]) || isSpecial(s) || strings.IndexByte("-?:\\,[]{}#&*!|>'\"%@`", s[0]) >= 0 {
		need = '\''
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z':
		case strings.IndexByte("_-^.,\t ", c) >= 0:
		case c == '\n' || c == '\r':
			need = '\''
		case c < ' ' || c >= 0x7f:
			return '"'
		default:
			need = '\''
		}
	}
	// A single-quoted scalar with a line break would be folded into a blank.
	if strings.ContainsAny(s, "\n\r") {
		return '"'
	}
	return need
}

func isBlank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// isSpecial reports whether s without quotes would not be read as text.
func isSpecial(s string) bool {
	switch s {
	case "null", "Null", "NULL", "~", "true", "True", "TRUE", "false", "False", "FALSE":
		return true
	}
	if strings.IndexByte("0123456789.+", s[0]) < 0 {
		return false // a function may be called inf
	}
	_, err := strconv.ParseFloat(strings.TrimPrefix(s, "."), 64)
	_, bad := strconv.ParseUint(s, 0, 64)
	return err == nil || bad == nil
}

func doubleQuote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == utf8.RuneError && n == 1:
			b.WriteRune(utf8.RuneError) // YAML has no way to write such a byte
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&b, "\\x%02X", r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	b.WriteByte('"')
	return b.String()
}

// ReadYAML reads a map as llvm-xray extract prints it, or as people write it:
// a sequence of mappings, each in braces or with one key to a line. The keys id,
// address, function and kind are required; always-instrument (false), version (0)
// and function-name are optional, and other keys are ignored. Errors name the line.
func ReadYAML(data []byte) (*Map, error) {
	m := &Map{}
	p := yamlParser{data: data, line: 1}
	last := "" // rows of one function share their name
	for p.next() {
		row, line := yamlRow{}, p.line
		p.row(&row)
		if p.err != nil {
			break
		}
		s, err := row.sled(last)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		last = s.Name
		m.Sleds = append(m.Sleds, s)
	}
	if p.err != nil {
		return nil, p.err
	}
	if len(m.Sleds) == 0 {
		return nil, fmt.Errorf("no rows of an instrumentation map")
	}
	return m, nil
}

// yamlRow is the values of a mapping by key, nil for keys that are not there.
type yamlRow struct{ id, address, function, kind, always, version, name []byte }

// field returns the address of the field for a key.
func (r *yamlRow) field(key []byte) *[]byte {
	switch string(key) {
	case "id":
		return &r.id
	case "address":
		return &r.address
	case "function":
		return &r.function
	case "kind":
		return &r.kind
	case "always-instrument":
		return &r.always
	case "version":
		return &r.version
	case "function-name":
		return &r.name
	}
	return nil
}

// sled converts a row. last is a name that it is likely to have.
func (r *yamlRow) sled(last string) (s Sled, err error) {
	number := func(key string, text []byte, bits int) uint64 {
		if err != nil {
			return 0
		}
		if text == nil {
			err = fmt.Errorf("a sled without %s", key)
			return 0
		}
		n, bad := strconv.ParseUint(string(text), 0, bits)
		if bad != nil {
			err = fmt.Errorf("%s: %q is not a number of %d bits", key, text, bits)
		}
		return n
	}
	s.Func = uint32(number("id", r.id, 32))
	s.Address = number("address", r.address, 64)
	s.Function = number("function", r.function, 64)
	if r.version != nil {
		s.Version = uint8(number("version", r.version, 8))
	}
	switch {
	case err != nil:
		return s, err
	case s.Func == 0:
		return s, fmt.Errorf("invalid function id 0: ids start at 1")
	case s.Version > maxVersion:
		return s, fmt.Errorf("version %d: at most %d is supported", s.Version, maxVersion)
	case r.kind == nil:
		return s, fmt.Errorf("a sled without kind")
	}
	if s.Kind, err = parseKind(string(r.kind)); err != nil {
		return s, err
	}
	switch string(r.always) {
	case "true", "True", "TRUE", "1":
		s.Always = true
	case "", "false", "False", "FALSE", "0":
	default:
		return s, fmt.Errorf("always-instrument: %q is neither true nor false", r.always)
	}
	if s.Name = last; string(r.name) != last {
		s.Name = string(r.name)
	}
	return s, nil
}

func parseKind(text string) (Kind, error) {
	for k, name := range kindNames {
		if text == name {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("kind: %q is not one of %s", text, strings.Join(kindNames[:], ", "))
}
