package machoimage

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/format/golines"
	"github.com/cairnprof/cairn/format/mip/wire"
	"github.com/cairnprof/cairn/internal/gobuild/image"
)

// places are those of added sections in Mach-O files, whose names have at most 16 bytes.
var places = map[string]string{wire.RawSection: wire.DataMachO, wire.MapSection: wire.MapMachO, wire.UnitSection: wire.UnitMachO, golines.Section: golines.MachOSection}

const (
	ownSegment = "__CAIRN"
	pageSize   = 0x4000 // of arm64, a multiple of that of x86-64
)

func alignUp(n, to int) int { return (n + to - 1) / to * to }

// Extend returns the file with a segment of the added sections that is not mapped, before
// __LINKEDIT, as the linker puts __DWARF there, and with new headers for sections that describe
// memory. The symbol table stays, with the functions of libSystem that the program calls.
func (f *File) Extend(add []image.Addition, _ bool) ([]byte, error) {
	link, ok := f.segment("__LINKEDIT")
	if !ok || link.off() > uint64(len(f.data)) {
		return nil, errors.New("no segment __LINKEDIT")
	}
	at := int(link.off())
	own, content := segmentOf(add, link.addr(), at)
	shift := alignUp(len(content), pageSize)
	out := &File{data: bytes.Clone(f.data[:headerSize])}
	var commands []byte
	for _, c := range f.commands {
		data := bytes.Clone(c.data)
		if s := (segment{data}); c.kind == cmdSegment && s.name() == "__LINKEDIT" {
			le.PutUint64(data[40:], uint64(at+shift))
			commands = append(commands, own...)
		} else if c.kind == cmdSegment {
			for _, a := range add {
				if a.Data == nil {
					data = divide(segment{data}, a)
				}
			}
		}
		for _, field := range linkEditOffsets[c.kind] {
			if field+4 > len(data) {
				continue
			}
			if off := int(le.Uint32(data[field:])); off >= at {
				le.PutUint32(data[field:], uint32(off+shift))
			}
		}
		commands = append(commands, data...)
	}
	if room := f.room(); len(commands) > room {
		return nil, fmt.Errorf("load commands of %d bytes, there is room for %d: link with -ldflags=-extldflags=-Wl,-headerpad,0x1000", len(commands), room)
	}
	le.PutUint32(out.data[16:], uint32(len(f.commands)+1))
	le.PutUint32(out.data[20:], uint32(len(commands)))
	out.data = append(out.data, commands...)
	out.data = append(out.data, make([]byte, headerSize+f.room()-len(out.data))...)
	out.data = append(out.data, f.data[len(out.data):at]...)
	out.data = append(out.data, content...)
	out.data = append(out.data, make([]byte, shift-len(content))...)
	out.data = append(out.data, f.data[at:]...)
	out, err := Parse(out.data)
	if err != nil {
		return nil, err
	}
	if err := f.renumber(out); err != nil {
		return nil, err
	}
	return out.Bytes()
}

// room returns the number of bytes that load commands may have.
func (f *File) room() int {
	room := len(f.data)
	for s := range f.sections() {
		if s.flags()&kindMask != zeroFill && s.off() > 0 {
			room = min(room, int(s.off()))
		}
	}
	return room - headerSize
}

// segmentOf returns a segment command with the additions that have data, which are at off in the
// file, and that data. The segment has no memory.
func segmentOf(add []image.Addition, addr uint64, off int) (cmd, content []byte) {
	var sections []byte
	for _, a := range add {
		if a.Data == nil {
			continue
		}
		sections = append(sections, newSection{a.Name, ownSegment, addr + uint64(len(content)), uint64(len(a.Data)), off + len(content), 0}.header()...)
		content = append(content, a.Data...)
	}
	cmd = newSegment(ownSegment, addr, 0, sections)
	le.PutUint64(cmd[40:], uint64(off))
	le.PutUint64(cmd[48:], uint64(len(content)))
	return cmd, content
}

// newSegment returns a segment command with sections, of memory at addr and of nothing in the file.
func newSegment(name string, addr, memory uint64, sections []byte) []byte {
	cmd := append(make([]byte, segmentSize), sections...)
	le.PutUint32(cmd, cmdSegment)
	le.PutUint32(cmd[4:], uint32(len(cmd)))
	copy(cmd[8:24], name)
	le.PutUint64(cmd[24:], addr)
	le.PutUint64(cmd[32:], memory)
	le.PutUint32(cmd[64:], uint32(len(sections)/sectionSize))
	return cmd
}

// newSection is a section that is added.
type newSection struct {
	name, segment string
	addr, size    uint64
	off           int // in the file
	flags         uint32
}

// header returns its entry in the load command of its segment.
func (n newSection) header() []byte {
	s := make([]byte, sectionSize)
	name := n.name
	if _, own, ok := strings.Cut(places[name], ","); ok {
		name = own
	}
	copy(s[:16], name)
	copy(s[16:32], n.segment)
	le.PutUint64(s[32:], n.addr)
	le.PutUint64(s[40:], n.size)
	le.PutUint32(s[48:], uint32(n.off))
	le.PutUint32(s[64:], n.flags)
	return s
}

// divide shortens the section without content that contains the memory of a, so that it ends
// where a begins, and adds a and what is after it as sections of their own.
func divide(s segment, a image.Addition) []byte {
	for i := range s.sections() {
		whole := s.section(i)
		end := whole.addr() + whole.size()
		if whole.flags()&kindMask != zeroFill || !whole.has(a.Addr) || a.Addr+a.Size > end {
			continue
		}
		added := newSection{a.Name, s.name(), a.Addr, a.Size, 0, zeroFill}.header()
		n := 1
		if from := a.Addr + a.Size; from < end {
			added = append(added, newSection{"__cairn_end", s.name(), from, end - from, 0, zeroFill}.header()...)
			n++
		}
		le.PutUint64(whole.data[40:], a.Addr-whole.addr())
		behind := segmentSize + (i+1)*sectionSize
		out := append(append(bytes.Clone(s.data[:behind]), added...), s.data[behind:]...)
		le.PutUint32(out[4:], uint32(len(out)))
		le.PutUint32(out[64:], uint32(s.sections()+n))
		return out
	}
	return s.data
}

// renumber gives the symbols of out the numbers of their sections there.
func (f *File) renumber(out *File) error {
	var old, now []section
	for s := range f.sections() {
		old = append(old, s)
	}
	for s := range out.sections() {
		now = append(now, s)
	}
	if len(now) > 255 {
		return fmt.Errorf("%d sections, symbols can be in 255", len(now))
	}
	table, _, err := out.symtab()
	if err != nil {
		return err
	}
	for ; len(table) >= symbolSize; table = table[symbolSize:] {
		n := int(table[5])
		if n == 0 || n > len(old) {
			continue
		}
		was, addr := old[n-1], le.Uint64(table[8:])
		best := 0
		for i, s := range now {
			// An address may be the end of its section.
			if s.addr() >= was.addr() && s.addr() <= max(addr, was.addr()) && s.addr()+s.size() <= was.addr()+was.size() && s.flags() == was.flags() {
				best = i + 1
			}
		}
		if best > 0 {
			table[5] = byte(best)
		}
	}
	return nil
}

// Only returns a file that has the added sections and the UUID, but no code to run.
func (f *File) Only(add []image.Addition) ([]byte, error) {
	out := bytes.Clone(f.data[:headerSize])
	uuid := f.find(cmdUUID, 24)
	if uuid == nil {
		return nil, errors.New("no UUID")
	}
	commands := bytes.Clone(uuid)
	n := uint32(1)
	for _, a := range add {
		if a.Data != nil {
			continue
		}
		commands = append(commands, newSegment("__DATA", a.Addr, a.Size, newSection{a.Name, "__DATA", a.Addr, a.Size, 0, zeroFill}.header())...)
		n++
	}
	own, _ := segmentOf(add, 0, 0)
	own, content := segmentOf(add, 0, headerSize+len(commands)+len(own))
	commands = append(commands, own...)
	le.PutUint32(out[16:], n+1)
	le.PutUint32(out[20:], uint32(len(commands)))
	return append(append(out, commands...), content...), nil
}
