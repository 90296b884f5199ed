package xray_test

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/cairnprof/cairn/format/xray"
	"github.com/cairnprof/cairn/format/xray/xraytest"
)

var indexKey = []byte("log")

// reopened opens a log by the index that the log itself writes.
func reopened(t testing.TB, l *xray.Log, data []byte) *xray.Log {
	t.Helper()
	again, err := xray.OpenIndex(bytes.NewReader(data), int64(len(data)), l.Info().File, l.AppendIndex(nil, indexKey), indexKey)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// sameLogs compares all that two logs say.
func sameLogs(t testing.TB, got, want *xray.Log) {
	t.Helper()
	if !reflect.DeepEqual(got.Info(), want.Info()) {
		t.Errorf("%+v, want %+v", got.Info(), want.Info())
	}
	if !reflect.DeepEqual(got.Threads(), want.Threads()) {
		t.Errorf("%+v, want %+v", got.Threads(), want.Threads())
	}
	a, damageA := read(t, got)
	b, damageB := read(t, want)
	if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(damageA, damageB) {
		t.Errorf("other events or damage: %v, want %v", damageA, damageB)
	}
}

// TestIndex checks that a log opened with its index is the same log.
func TestIndex(t *testing.T) {
	every(t, func(t *testing.T, b *xraytest.Builder) {
		b.BufferSize = 512
		mixed(b, 2000)
		data := b.Bytes()
		l := open(t, data)
		sameLogs(t, reopened(t, l, data), l)
	})
	t.Run("YAML", func(t *testing.T) {
		t.Parallel()
		data := []byte(yamlHead + yamlCall + "x\n" + yamlCall)
		l := open(t, data)
		sameLogs(t, reopened(t, l, data), l)
	})
}

// TestIndexOfMutants is TestIndex with damaged logs.
func TestIndexOfMutants(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 8))
	opened := 0
	for _, seed := range seeds() {
		for range 20 {
			data := mutate(r, bytes.Clone(seed))
			l, err := xray.Open(bytes.NewReader(data), int64(len(data)), "log")
			if err != nil {
				continue
			}
			opened++
			sameLogs(t, reopened(t, l, data), l)
		}
	}
	if opened == 0 {
		t.Error("no mutant could be opened")
	}
}

// TestIndexOfAnother checks that an index of another log, or a damaged one, is rejected.
func TestIndexOfAnother(t *testing.T) {
	t.Parallel()
	b := xraytest.New(fdr5)
	mixed(b, 300)
	data := b.Bytes()
	index := open(t, data).AppendIndex(nil, indexKey)
	refused := func(what string, size int, index, key []byte) {
		if _, err := xray.OpenIndex(bytes.NewReader(data), int64(size), "log", index, key); err == nil {
			t.Errorf("%s: it was taken", what)
		}
	}
	refused("key", len(data), index, []byte("gol"))
	refused("size", len(data)-1, index, indexKey)
	for i := range index {
		broken := bytes.Clone(index)
		broken[i]++
		refused("damaged", len(data), broken, indexKey)
		refused("cut", len(data), index[:i], indexKey)
	}
}

func FuzzOpenIndex(f *testing.F) {
	var logs [][]byte
	for i, format := range []xraytest.Format{fdr5, basic3} {
		b := xraytest.New(format)
		b.BufferSize = 512
		mixed(b, 100)
		logs = append(logs, b.Bytes())
		index := open(f, logs[i]).AppendIndex(nil, indexKey)
		f.Add(index[:len(index)-4], i == 0)
	}
	f.Fuzz(func(t *testing.T, index []byte, first bool) {
		data := logs[0]
		if !first {
			data = logs[1]
		}
		// A checksum that never fits would leave nothing to be found.
		index = binary.LittleEndian.AppendUint32(index, crc32.ChecksumIEEE(index))
		l, err := xray.OpenIndex(bytes.NewReader(data), int64(len(data)), "log", index, indexKey)
		if err != nil {
			return
		}
		for i, th := range l.Threads() {
			for _, err := range l.Batches(i, 0, th.Parts) {
				if err != nil {
					mustBeDamage(t, l, err)
				}
			}
		}
	})
}
