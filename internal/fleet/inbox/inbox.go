// Package inbox splits the body of an upload into its files and checks each of them.
//
// A body is a file of any kind that a collector takes, or a bundle of them; packs are unpacked.
// Bodies are untrusted: sizes, numbers and the work are bounded, and names are only text.
package inbox

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"

	"github.com/cairnprof/cairn/format/bundle"
	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/format/mippack"
	"github.com/cairnprof/cairn/format/tracelog"
	"github.com/cairnprof/cairn/prof"
)

// Kind is the kind of a file.
type Kind int

// The kinds of files that a collector takes.
const (
	Raw    Kind = iota + 1 // of a run
	Map                    // of a build
	Spikes                 // a log of mode spike
	Stacks                 // a log of mode stacks
)

// Key identifies a file: a raw file by its run, or by its content if the run is not known; a
// log by its process; a map by its content.
type Key [16]byte

// String returns the key in hexadecimal.
func (k Key) String() string { return hex.EncodeToString(k[:]) }

// MarshalText returns the key in hexadecimal.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a key in hexadecimal.
func (k *Key) UnmarshalText(text []byte) error {
	data, err := hex.DecodeString(string(text))
	if err != nil || len(data) != len(k) {
		return fmt.Errorf("%.40q is not the key of a file", text)
	}
	copy(k[:], data)
	return nil
}

// Item is a file.
type Item struct {
	Kind  Kind
	Key   Key
	Build prof.BuildID
	// Program is the name of the program in a map or a log, empty for others.
	Program string
	Name    string // as its sender called it; no path
	Index   int    // among the files of the body, those in packs counted
	Data    []byte
	Places  int // of spikes in a log, at most
	// Claims are the programs that the sender may write to, nil for all. They are the same for all
	// files of an upload, as is Sender, the name of the token.
	Claims []string
	Sender string
}

// Refusal is a file that was refused, and the reason.
type Refusal struct {
	Index  int    `json:"index"` // as that of an Item
	Name   string `json:"name,omitempty"`
	Reason string `json:"reason"`
}

// Limits bound what a body holds.
type Limits struct {
	Files int   // number of files
	File  int64 // bytes of a file
	Total int64 // bytes of all files
	// Content bounds what a file may have as well: places, functions and names. What was acknowledged before is not
	// checked again.
	Content bool
}

// ErrKind is in the error of a body of a kind that a collector does not accept.
var ErrKind = errors.New("not a raw file, a pack, a map, a log of spikes or of stacks, or a bundle of them")

// Bounds of the work for packs in a body: unpacking takes seconds at most.
const (
	maxFirsts = 1 << 18
	maxPacks  = 4
)

// opener collects the files of a body.
type opener struct {
	limits  Limits
	files   int
	packs   int
	total   int64 // bytes of files in packs
	items   []Item
	refused []Refusal
}

// Open returns the valid files in a body, and those that are refused. After an error the whole
// body is refused.
func Open(body []byte, limits Limits) ([]Item, []Refusal, error) {
	o := opener{limits: limits}
	if !bundle.Detect(body) {
		if int64(len(body)) > limits.File {
			return nil, nil, fmt.Errorf("%w: a file of %d bytes, at most %d are allowed", bundle.ErrLimit, len(body), limits.File)
		}
		err := o.add("", body)
		if err == nil && len(o.items) == 0 && len(o.refused) == 1 {
			err = errors.New(o.refused[0].Reason)
		}
		return o.items, o.refused, err
	}
	r := bundle.NewReader(bytes.NewReader(body), bundle.Limits{Files: limits.Files, File: limits.File, Total: limits.Total})
	for {
		f, err := r.Next()
		if err == io.EOF {
			return o.items, o.refused, nil
		}
		if err == nil {
			err = o.add(f.Name, f.Data)
		}
		if errors.Is(err, ErrKind) {
			o.refuse(f.Name, err)
			o.files++
		} else if err != nil {
			return nil, nil, err
		}
	}
}

func (o *opener) refuse(name string, err error) {
	o.refused = append(o.refused, Refusal{Index: o.files, Name: name, Reason: err.Error()})
}

// add adds a file of the body, or those in a pack.
func (o *opener) add(name string, data []byte) error {
	switch {
	case mip.Detect(data) == mip.KindRaw:
		o.addRaw(name, data)
	case mip.Detect(data) == mip.KindMap:
		o.addMap(name, data)
	case tracelog.Detect(data):
		o.addLog(name, data)
	case mippack.Detect(data):
		return o.addPack(data)
	default:
		return ErrKind
	}
	o.files++
	return nil
}

func (o *opener) addRaw(name string, data []byte) {
	raw, err := mip.ParseRaw(data)
	if err != nil {
		o.refuse(name, err)
		return
	}
	o.items = append(o.items, Item{Kind: Raw, Key: rawKey(&raw, data), Build: raw.BuildID, Name: name, Index: o.files, Data: data})
}

func (o *opener) addMap(name string, data []byte) {
	m, err := mip.ReadMap(data)
	if err == nil && o.limits.Content {
		err = checkMap(m)
	}
	if err != nil {
		o.refuse(name, err)
		return
	}
	o.items = append(o.items, Item{Kind: Map, Key: contentKey(data), Build: m.BuildID, Program: m.Module, Name: name, Index: o.files, Data: data})
}

// addLog adds a log of spikes or of stacks. It belongs to the build of the process's executable.
func (o *opener) addLog(name string, data []byte) {
	it := Item{Kind: Spikes, Name: name, Index: o.files, Data: data}
	head, modules, err := readLog(&it)
	if err == nil && !slices.ContainsFunc(modules, func(m tracelog.Module) bool {
		it.Build, it.Program = prof.BuildID(m.BuildID), path.Base(m.Path)
		return m.Main
	}) {
		err = errors.New("a log without the program that wrote it")
	}
	if err == nil && o.limits.Content {
		err = checkLog(&it, modules)
	}
	if err == nil && it.Build == "" {
		err = fmt.Errorf("a log of %.60q, which has no build id: link it with -Wl,--build-id", it.Program)
	}
	if err != nil {
		o.refuse(name, err)
		return
	}
	it.Key = logKey(&it, &head)
	o.items = append(o.items, it)
}

func readLog(it *Item) (tracelog.Header, []tracelog.Module, error) {
	r, size := bytes.NewReader(it.Data), int64(len(it.Data))
	if tracelog.DetectStacks(it.Data) {
		it.Kind = Stacks
		l, err := tracelog.OpenStacks(r, size, it.Name, new(tracelog.Objects))
		if err != nil {
			return tracelog.Header{}, nil, err
		}
		return l.Header, l.Modules, nil
	}
	if tracelog.DetectTrace(it.Data) {
		return tracelog.Header{}, nil, fmt.Errorf("a log of single calls: %w", ErrKind)
	}
	l, err := tracelog.Open(r, size, it.Name)
	if err != nil {
		return tracelog.Header{}, nil, err
	}
	return l.Header, l.Modules, nil
}

// logKey identifies a process: a log that was sent while the process ran and again at its end
// is accepted once.
func logKey(it *Item, head *tracelog.Header) Key {
	h := append([]byte("log\x00"), byte(it.Kind), byte(len(it.Build)))
	h = append(h, it.Build...)
	for _, n := range []uint64{uint64(head.PID), head.Realtime, head.Monotonic, head.TSC} {
		h = binary.LittleEndian.AppendUint64(h, n)
	}
	return short(sha256.Sum256(h))
}

func (o *opener) addPack(data []byte) error {
	if o.packs++; o.packs > maxPacks {
		return fmt.Errorf("%w: more than %d packs in a body", bundle.ErrLimit, maxPacks)
	}
	files, err := mippack.UnpackWithin(data, mippack.Limits{
		Files: o.limits.Files - o.files, Total: uint64(max(0, o.limits.Total-o.total)), Firsts: maxFirsts,
	})
	if err != nil {
		return err
	}
	for _, f := range files {
		o.total += int64(len(f.Data))
		if mip.Detect(f.Data) == mip.KindRaw {
			o.addRaw(f.Name, f.Data)
		} else {
			o.refuse(f.Name, ErrKind)
		}
		o.files++
	}
	return nil
}

// rawKey identifies a run of a module. Two files of one run, such as live memory that was sent
// before and after the process ended, have the same key.
func rawKey(raw *mip.Raw, data []byte) Key {
	if raw.Run == 0 {
		return contentKey(data)
	}
	h := append([]byte("run\x00"), byte(len(raw.BuildID)))
	h = append(h, raw.BuildID...)
	h = binary.LittleEndian.AppendUint64(h, raw.Run)
	return short(sha256.Sum256(binary.LittleEndian.AppendUint32(h, raw.PID)))
}

func contentKey(data []byte) Key { return short(sha256.Sum256(data)) }

func short(sum [sha256.Size]byte) (k Key) {
	copy(k[:], sum[:])
	return k
}

// Bundle returns a bundle of items, which Open splits again.
func Bundle(items []Item) ([]byte, error) {
	files := make([]bundle.File, len(items))
	for i, it := range items {
		files[i] = bundle.File{Name: it.Name, Data: it.Data}
	}
	return bundle.Append(nil, files)
}
