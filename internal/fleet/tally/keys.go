package tally

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/cairnprof/cairn/internal/fleet/inbox"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// Problem: the key of each file that was ever counted is needed to count it once, and there may be hundreds of
// millions of them.
//
// Keys are in memory until the next snapshot. A snapshot writes them to an object, sorted: a layer. Layers of similar
// size are joined, so that their number grows with the logarithm of the number of keys. In memory a layer has every
// fenceStep-th key and a Bloom filter, 10 bits for each key, so that a file that is new costs no read. If the filters
// become larger than their share of the memory, the largest layers do without. A key that is forgotten is written as
// one that is gone, in a later layer.

const (
	keySize    = len(inbox.Key{})
	fenceStep  = 256 // keys between fences
	blockSize  = keySize * fenceStep
	partKeys   = 1 << 18 // of an object
	bloomBits  = 10      // of a key
	bloomTests = 4
)

// RangeReader is an Objects that can read a part of an object.
type RangeReader interface {
	ReadAt(name string, p []byte, off int64) error
}

// keyPart is an object with some of the keys of a layer.
type keyPart struct {
	Name  string `json:"name"`
	Count int    `json:"count"`

	first  inbox.Key
	fences []uint64 // of each fenceStep-th key, the first eight bytes
	data   []byte   // all keys, if the objects cannot be read in parts
}

// keyLayer is a sorted set of keys.
type keyLayer struct {
	Parts []keyPart   `json:"parts,omitempty"`
	Gone  []inbox.Key `json:"gone,omitempty"` // sorted; keys of earlier layers that were forgotten

	count int
	bloom []uint64
}

// keySet is the set of the keys of all files that were counted.
type keySet struct {
	objects Objects
	fresh   map[inbox.Key]bool // since the last snapshot; false for those that were forgotten
	layers  []keyLayer         // the oldest first
	count   int
	most    int // bytes of all Bloom filters
}

func newKeySet(objects Objects, most int64) keySet {
	return keySet{objects: objects, fresh: make(map[inbox.Key]bool), most: int(min(most, math.MaxInt))}
}

// size returns the bytes in memory, about.
func (s *keySet) size() int64 {
	n := int(s.freshSize())
	for i := range s.layers {
		l := &s.layers[i]
		n += 8*len(l.bloom) + keySize*len(l.Gone)
		for k := range l.Parts {
			n += 8*len(l.Parts[k].fences) + len(l.Parts[k].data) + 128
		}
	}
	return int64(n)
}

// freshSize returns the bytes of the keys since the last snapshot in memory, about.
func (s *keySet) freshSize() int64 {
	const ofKey = 48 // with the map's own
	return ofKey * int64(len(s.fresh))
}

// has reports whether a key is in the set.
func (s *keySet) has(k inbox.Key) (bool, error) {
	if known, ok := s.fresh[k]; ok {
		return known, nil
	}
	for i := len(s.layers) - 1; i >= 0; i-- {
		l := &s.layers[i]
		if l.mayHave(k) {
			if ok, err := l.has(k, s.objects); ok || err != nil {
				return ok, err
			}
		}
		if _, gone := slices.BinarySearchFunc(l.Gone, k, compareKeys); gone {
			return false, nil
		}
	}
	return false, nil
}

func (s *keySet) add(k inbox.Key) {
	s.fresh[k] = true
	s.count++
}

// remove lets another file with this key be counted.
func (s *keySet) remove(k inbox.Key) {
	s.count--
	if slices.ContainsFunc(s.layers, func(l keyLayer) bool { return l.mayHave(k) }) {
		s.fresh[k] = false
	} else {
		delete(s.fresh, k)
	}
}

func compareKeys(a, b inbox.Key) int { return bytes.Compare(a[:], b[:]) }

// store writes the keys since its last call as a layer.
func (s *keySet) store() error {
	if len(s.fresh) == 0 {
		return nil
	}
	var keys, gone []inbox.Key
	for k, known := range s.fresh {
		if known {
			keys = append(keys, k)
		} else {
			gone = append(gone, k)
		}
	}
	stablesort.Func(keys, compareKeys)
	stablesort.Func(gone, compareKeys)
	w := newLayerWriter(s.objects, len(keys))
	for _, k := range keys {
		if err := w.add(k); err != nil {
			return err
		}
	}
	l, err := w.end()
	if err != nil {
		return err
	}
	l.Gone = gone
	layers := append(slices.Clip(s.layers), l)
	for n := len(layers); n > 1 && layers[n-2].count <= 2*layers[n-1].count+len(layers[n-1].Gone); n = len(layers) {
		joined, err := s.join(&layers[n-2], &layers[n-1], n == 2)
		if err != nil {
			return err
		}
		layers = append(layers[:n-2:n-2], joined)
	}
	s.layers = layers
	clear(s.fresh)
	s.drop()
	return nil
}

// drop removes the filters of the largest layers while all are larger than they may be.
func (s *keySet) drop() {
	sum, order := 0, make([]*keyLayer, len(s.layers))
	for i := range s.layers {
		order[i] = &s.layers[i]
		sum += 8 * len(order[i].bloom)
	}
	stablesort.Func(order, func(a, b *keyLayer) int { return cmp.Compare(b.count, a.count) })
	for _, l := range order {
		if sum <= s.most {
			return
		}
		sum -= 8 * len(l.bloom)
		l.bloom = nil
	}
}

// join returns the layer that a and the later b make. If it is the first of all, nothing can be gone before it.
func (s *keySet) join(a, b *keyLayer, first bool) (keyLayer, error) {
	left, right := layerReader{l: a, objects: s.objects}, layerReader{l: b, objects: s.objects}
	w := newLayerWriter(s.objects, a.count+b.count)
	k, more, err := left.next()
	if err != nil {
		return keyLayer{}, err
	}
	other, others, err := right.next()
	for err == nil && (more || others) {
		switch c := compareKeys(k, other); {
		case !more || others && c > 0:
			if err = w.add(other); err == nil {
				other, others, err = right.next()
			}
		case others && c == 0:
			k, more, err = left.next()
		default:
			if _, gone := slices.BinarySearchFunc(b.Gone, k, compareKeys); !gone {
				err = w.add(k)
			}
			if err == nil {
				k, more, err = left.next()
			}
		}
	}
	if err != nil {
		return keyLayer{}, err
	}
	l, err := w.end()
	if !first {
		l.Gone = append(slices.Clip(a.Gone), b.Gone...)
		stablesort.Func(l.Gone, compareKeys)
		l.Gone = slices.Compact(l.Gone)
	}
	return l, err
}

// used adds the names of all objects.
func (s *keySet) used(names map[string]bool) {
	for i := range s.layers {
		for k := range s.layers[i].Parts {
			names[s.layers[i].Parts[k].Name] = true
		}
	}
}

// restore adds a layer of a snapshot. damaged is called for objects that cannot be read; without an error of its own,
// their keys are left out.
func (s *keySet) restore(l keyLayer, damaged func(error) error) error {
	parts, most := l.Parts, 0
	for i := range parts {
		most += parts[i].Count
	}
	l.Parts, l.bloom = nil, newBloom(most)
	for _, p := range parts {
		data, err := p.read(s.objects)
		if err != nil {
			if err := damaged(err); err != nil {
				return err
			}
			continue
		}
		for k := range slices.Chunk(data, keySize) {
			l.set(inbox.Key(k))
		}
		p.index(data, s.objects)
		l.Parts = append(l.Parts, p)
		l.count += p.Count
	}
	s.layers = append(s.layers, l)
	s.count += l.count
	s.drop()
	return nil
}

// layerReader reads the keys of a layer in order.
type layerReader struct {
	l       *keyLayer
	objects Objects
	part    int    // that is read next
	data    []byte // of the part before it
}

func (r *layerReader) next() (k inbox.Key, more bool, err error) {
	for len(r.data) == 0 {
		if r.part == len(r.l.Parts) {
			return k, false, nil
		}
		p := &r.l.Parts[r.part]
		r.part++
		if r.data, err = p.read(r.objects); err != nil {
			return k, false, err
		}
	}
	copy(k[:], r.data)
	r.data = r.data[keySize:]
	return k, true, nil
}

// read returns the keys of a part.
func (p *keyPart) read(objects Objects) ([]byte, error) {
	data, err := objects.Get(p.Name)
	if err == nil && (p.Count == 0 || len(data) != p.Count*keySize) {
		err = fmt.Errorf("object %s has %d bytes, not %d keys", p.Name, len(data), p.Count)
	}
	return data, err
}

// index finds the fences of a part with these keys.
func (p *keyPart) index(data []byte, objects Objects) {
	p.first = inbox.Key(data)
	p.fences = make([]uint64, 0, (p.Count+fenceStep-1)/fenceStep)
	for i := 0; i < p.Count; i += fenceStep {
		p.fences = append(p.fences, binary.BigEndian.Uint64(data[i*keySize:]))
	}
	if _, ok := objects.(RangeReader); !ok {
		p.data = data
	}
}

// layerWriter writes the objects of a layer.
type layerWriter struct {
	objects Objects
	l       keyLayer
	data    []byte
}

// newLayerWriter returns a writer of at most this many keys.
func newLayerWriter(objects Objects, most int) *layerWriter {
	return &layerWriter{objects: objects, l: keyLayer{bloom: newBloom(most)}}
}

// add adds the next key.
func (w *layerWriter) add(k inbox.Key) error {
	w.l.count++
	w.l.set(k)
	w.data = append(w.data, k[:]...)
	if len(w.data) < partKeys*keySize {
		return nil
	}
	return w.flush()
}

func (w *layerWriter) flush() error {
	if len(w.data) == 0 {
		return nil
	}
	name, err := w.objects.Put(w.data)
	if err != nil {
		return err
	}
	p := keyPart{Name: name, Count: len(w.data) / keySize}
	p.index(w.data, w.objects)
	w.l.Parts, w.data = append(w.l.Parts, p), nil
	return nil
}

func (w *layerWriter) end() (keyLayer, error) {
	err := w.flush()
	return w.l, err
}

func newBloom(keys int) []uint64 { return make([]uint64, (keys*bloomBits+63)/64) }

// hashes returns two numbers of a key, which is a hash itself.
func hashes(k inbox.Key) [2]uint64 {
	return [2]uint64{binary.LittleEndian.Uint64(k[:]), binary.LittleEndian.Uint64(k[8:]) | 1}
}

func (l *keyLayer) set(k inbox.Key) {
	h := hashes(k)
	for i := range uint64(bloomTests) {
		bit := (h[0] + i*h[1]) % uint64(64*len(l.bloom))
		l.bloom[bit/64] |= 1 << (bit % 64)
	}
}

// mayHave reports whether a layer may have a key.
func (l *keyLayer) mayHave(k inbox.Key) bool {
	if len(l.bloom) == 0 {
		return l.count > 0
	}
	h := hashes(k)
	for i := range uint64(bloomTests) {
		if bit := (h[0] + i*h[1]) % uint64(64*len(l.bloom)); l.bloom[bit/64]&(1<<(bit%64)) == 0 {
			return false
		}
	}
	return true
}

// has looks a key up in the objects of a layer.
func (l *keyLayer) has(k inbox.Key, objects Objects) (bool, error) {
	i := sort.Search(len(l.Parts), func(i int) bool { return compareKeys(l.Parts[i].first, k) > 0 }) - 1
	if i < 0 {
		return false, nil
	}
	p := &l.Parts[i]
	head := binary.BigEndian.Uint64(k[:])
	// Several fences may be equal: the key is between the last that is less and the first that is greater.
	from := max(0, sort.Search(len(p.fences), func(i int) bool { return p.fences[i] >= head })-1)
	to := sort.Search(len(p.fences), func(i int) bool { return p.fences[i] > head })
	for b := from; b < to; b++ {
		start, end := b*fenceStep, min(p.Count, (b+1)*fenceStep)
		var block []byte
		if p.data != nil {
			block = p.data[start*keySize : end*keySize]
		} else {
			block = make([]byte, blockSize)[:(end-start)*keySize]
			if err := objects.(RangeReader).ReadAt(p.Name, block, int64(start*keySize)); err != nil {
				return false, err
			}
		}
		n := sort.Search(end-start, func(i int) bool { return bytes.Compare(block[i*keySize:(i+1)*keySize], k[:]) >= 0 })
		if n < end-start && bytes.Equal(block[n*keySize:(n+1)*keySize], k[:]) {
			return true, nil
		}
	}
	return false, nil
}
