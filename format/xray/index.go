package xray

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"slices"

	"github.com/cairnprof/cairn/calllog"
	"github.com/cairnprof/cairn/internal/stablesort"
)

// index is the state of Open.
type index struct {
	log    *Log
	ids    map[owner]int32
	owners []owner
	parts  []part

	unlisted     int64 // damage that is not listed any more, in bytes
	unlistedFrom int64
	unlistedN    int

	stepped    int  // threads whose ticks contradict the wall clock
	objects    bool // functions of shared objects were seen
	unsearched bool // basic: time went back too often
}

// maxDamage is the number of places listed individually.
const maxDamage = 1000

func (ix *index) damage(d *calllog.Damage) {
	in := &ix.log.info
	if len(in.Damage) < maxDamage {
		in.Damage = append(in.Damage, d)
		return
	}
	if ix.unlistedN == 0 {
		ix.unlistedFrom = d.Offset
	}
	ix.unlistedN++
	ix.unlisted += d.Size
}

// damagef reports a place of the log.
func (ix *index) damagef(off, size int64, what string) {
	ix.damage(&calllog.Damage{File: ix.log.info.File, Offset: off, Size: size, What: what})
}

// id returns the index of a thread.
func (ix *index) id(o owner) int32 {
	id, ok := ix.ids[o]
	if !ok {
		id = int32(len(ix.owners))
		ix.ids[o] = id
		ix.owners = append(ix.owners, o)
	}
	return id
}

// fdr goes over the blocks of an FDR log.
func (ix *index) fdr() error {
	l := ix.log
	s := &blocks{h: &l.head, win: l.window(), pos: headerSize}
	for {
		b, damage, err := s.next()
		if err != nil {
			return err
		}
		if damage != nil {
			ix.damage(damage)
			continue
		}
		if b == nil {
			break
		}
		if b.lack != "" {
			ix.damagef(b.off, 0, b.lack)
		}
		if b.cut && l.head.version > 1 {
			ix.damagef(b.off, 0, "the file ends inside this block")
		}
		ix.objects = ix.objects || b.call.Object() != 0
		if b.body {
			b.part.owner = ix.id(b.owner)
			ix.parts = append(ix.parts, b.part)
		}
	}
	stablesort.Func(ix.parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.owner, b.owner), cmp.Compare(a.wall, b.wall),
			cmp.Compare(a.first, b.first), cmp.Compare(a.size, b.size), cmp.Compare(a.off, b.off))
	})
	if err := ix.dropCut(); err != nil {
		return err
	}
	if err := ix.dropEqual(); err != nil {
		return err
	}
	ix.finish()
	return nil
}

// same reports whether the preambles of two blocks are equal.
func same(a, b part) bool {
	return a.owner == b.owner && a.wall == b.wall && a.first == b.first && a.size == b.size
}

// dropCut drops a block that the end of the file truncates if the same block exists before it, whole. That one
// is after it in parts, being larger.
func (ix *index) dropCut() error {
	i := slices.IndexFunc(ix.parts, func(p part) bool { return p.cut })
	if i < 0 {
		return nil
	}
	p := ix.parts[i]
	for _, q := range ix.parts[i+1:] {
		if q.owner != p.owner || q.wall != p.wall || q.first != p.first {
			break
		}
		equal, err := ix.equal(p.off, q.off, p.size)
		if err != nil {
			return err
		}
		if equal {
			ix.parts = slices.Delete(ix.parts, i, i+1)
			ix.log.info.Duplicates++
			break
		}
	}
	return nil
}

// equal reports whether the same n bytes are at two places of the log.
func (ix *index) equal(a, b, n int64) (bool, error) {
	var bufs [2][4096]byte
	for n > 0 {
		size := min(n, int64(len(bufs[0])))
		for i, off := range [...]int64{a, b} {
			if got, err := ix.log.r.ReadAt(bufs[i][:size], off); int64(got) < size {
				return false, fmt.Errorf("%s: offset %#x: %w", ix.log.info.File, off, err)
			}
		}
		if !bytes.Equal(bufs[0][:size], bufs[1][:size]) {
			return false, nil
		}
		a, b, n = a+size, b+size, n-size
	}
	return true, nil
}

// dropEqual drops duplicate blocks. Candidates are adjacent; the bytes are read only for those, once each.
func (ix *index) dropEqual() error {
	kept := ix.parts[:0]
	var seen map[[sha256.Size]byte]bool
	for i, p := range ix.parts {
		after := i > 0 && same(ix.parts[i-1], p)
		before := i+1 < len(ix.parts) && same(p, ix.parts[i+1])
		if !after {
			seen = nil
		}
		if after || before {
			sum := sha256.New()
			if _, err := io.Copy(sum, io.NewSectionReader(ix.log.r, p.off, p.size)); err != nil {
				return fmt.Errorf("%s: offset %#x: %w", ix.log.info.File, p.off, err)
			}
			if seen == nil {
				seen = make(map[[sha256.Size]byte]bool)
			}
			key := [sha256.Size]byte(sum.Sum(nil))
			if seen[key] {
				ix.log.info.Duplicates++
				continue
			}
			seen[key] = true
		}
		kept = append(kept, p)
	}
	ix.parts = kept
	return nil
}

// finish assigns the sorted parts to their threads, and the threads to the log.
func (ix *index) finish() {
	l := ix.log
	byOwner := make([][]part, len(ix.owners))
	for i := 0; i < len(ix.parts); {
		j, o := i+1, ix.parts[i].owner
		for j < len(ix.parts) && ix.parts[j].owner == o {
			j++
		}
		byOwner[o] = ix.parts[i:j:j]
		i = j
	}
	rank := make([]int, 0, len(ix.owners))
	for o, parts := range byOwner {
		if parts != nil {
			rank = append(rank, o)
		}
		if l.head.fdr && goesBack(parts) {
			ix.stepped++
		}
	}
	stablesort.Func(rank, func(a, b int) int {
		x, y := ix.owners[a], ix.owners[b]
		return cmp.Or(cmp.Compare(x.pid, y.pid), cmp.Compare(x.tid, y.tid))
	})
	for _, o := range rank {
		parts := byOwner[o]
		t := calllog.Thread{PID: ix.owners[o].pid, TID: ix.owners[o].tid, Parts: len(parts)}
		for _, p := range parts {
			t.Bytes += p.size
		}
		l.threads = append(l.threads, t)
		l.parts = append(l.parts, parts)
	}
	l.info.Clock = clock(&l.head, ix.parts)
	if ix.unlistedN > 0 {
		what := fmt.Sprintf("%d more damaged regions after this one", ix.unlistedN)
		l.info.Damage = append(l.info.Damage, &calllog.Damage{File: l.info.File, Offset: ix.unlistedFrom, Size: ix.unlisted, What: what})
	}
}

func goesBack(parts []part) bool {
	for i := 1; i < len(parts); i++ {
		if a, b := parts[i-1], parts[i]; a.timed && b.timed && b.first < a.first {
			return true
		}
	}
	return false
}
