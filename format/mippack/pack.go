package mippack

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
)

// Pack returns the pack of files, whose names must differ. Files that are not valid raw files are packed byte
// for byte.
func Pack(files []File) ([]byte, error) {
	if len(files) > MaxFiles {
		return nil, fmt.Errorf("%d files, but a pack can contain at most %d", len(files), MaxFiles)
	}
	var p packer
	names := make(map[string]bool, len(files))
	total := 0
	for _, f := range files {
		if err := checkName(f.Name); err != nil {
			return nil, err
		}
		if names[f.Name] {
			return nil, fmt.Errorf("two files are called %q", f.Name)
		}
		names[f.Name] = true
		if total += len(f.Data); total > MaxTotal {
			return nil, fmt.Errorf("more than %d bytes of files: make several packs", MaxTotal)
		}
		p.add(f)
	}
	firsts := 0
	for i := range p.entries {
		firsts += len(p.entries[i].raw.Order)
	}
	if len(p.builds) > MaxBuilds || firsts > MaxFirsts {
		return nil, fmt.Errorf("%d builds, %d first executions; a pack can contain at most %d and %d: make several packs", len(p.builds), firsts, MaxBuilds, MaxFirsts)
	}
	body := p.list()
	e := newEncoder()
	newModels(p.builds).code(&coder{e: e}, p.entries)
	body = append(body, e.finish()...)
	out := append([]byte(nil), Magic...)
	out = binary.LittleEndian.AppendUint16(out, versionOf(p.entries))
	out = binary.LittleEndian.AppendUint16(out, 0)
	out = binary.LittleEndian.AppendUint32(out, crc32.ChecksumIEEE(body))
	out = binary.LittleEndian.AppendUint64(out, uint64(len(body)))
	return append(out, body...), nil
}

type packer struct {
	builds  []build
	entries []entry
}

// versionOf returns the version of a pack with the given entries.
func versionOf(entries []entry) uint16 {
	if slices.ContainsFunc(entries, func(e entry) bool { return e.kind&flagOdd != 0 }) {
		return versionOdd
	}
	return version
}

// add adds a file, field by field if that restores the same bytes.
func (p *packer) add(f File) {
	e := entry{name: f.Name, data: f.Data, stored: uint64(len(f.Data))}
	if raw, err := mip.ParseRaw(f.Data); err == nil && codable(&raw) {
		if same, err := mip.AppendRaw(nil, raw); err == nil && bytes.Equal(same, f.Data) {
			e.kind, e.raw, e.stored = kindCoded, raw, uint64(len(raw.Data))
			e.build = p.build(&e)
			if b := &p.builds[e.build]; b.fileName(raw.PID, e.number) == f.Name {
				e.kind |= flagNamed
			}
			if raw.Single {
				e.kind |= flagSingle
			}
		}
	}
	image := e.data
	if e.kind&kindCoded != 0 {
		image = e.raw.Data
	}
	if oddFlags(image) {
		e.kind |= flagOdd
	}
	p.entries = append(p.entries, e)
}

// codable reports whether the order of r contains only nonzero records, each once.
func codable(r *mip.Raw) bool {
	if r.Continuous || uint32(len(r.Order)) != min(r.Next, r.Slots) {
		return false
	}
	seen := make(map[uint32]bool, len(r.Order))
	for _, record := range r.Order {
		if seen[record] || uint64(record) >= uint64(len(r.Data)) || r.Data[record] == 0 {
			return false
		}
		seen[record] = true
	}
	return true
}

// build returns the index of the build of e, and sets the number in e's name.
func (p *packer) build(e *entry) int {
	module := ""
	middle := fmt.Sprintf(".%s.%d.", e.raw.BuildID, e.raw.PID)
	if i := strings.LastIndex(e.name, middle); i >= 0 {
		module = e.name[:i]
		digits, _ := strings.CutSuffix(e.name[i+len(middle):], ".mipraw")
		e.number, _ = strconv.ParseUint(digits, 10, 64)
	}
	for i := range p.builds {
		if p.builds[i].id == e.raw.BuildID {
			return i
		}
	}
	p.builds = append(p.builds, build{e.raw.BuildID, module})
	return len(p.builds) - 1
}

func appendString(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// list returns the builds and files as the body has them.
func (p *packer) list() []byte {
	b := binary.AppendUvarint(nil, uint64(len(p.builds)))
	for i := range p.builds {
		b = appendString(b, string(p.builds[i].id))
		b = appendString(b, p.builds[i].module)
	}
	b = binary.AppendUvarint(b, uint64(len(p.entries)))
	for i := range p.entries {
		e := &p.entries[i]
		b = append(b, e.kind)
		if e.kind&kindCoded != 0 {
			b = binary.AppendUvarint(b, uint64(e.build))
			b = binary.AppendUvarint(b, uint64(e.raw.PID))
			b = binary.LittleEndian.AppendUint64(b, e.raw.Run)
			b = binary.AppendUvarint(b, e.raw.Size)
			b = binary.AppendUvarint(b, e.stored)
			b = appendString(b, e.raw.Scenario)
			b = binary.AppendUvarint(b, uint64(e.raw.Slots))
			b = binary.AppendUvarint(b, uint64(e.raw.Next))
		} else {
			b = binary.AppendUvarint(b, e.stored)
		}
		if e.kind&flagNamed != 0 {
			b = binary.AppendUvarint(b, e.number)
		} else {
			b = appendString(b, e.name)
		}
	}
	return b
}
