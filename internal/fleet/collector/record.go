package collector

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/cairnprof/cairn/internal/fleet/inbox"
)

// A record of the journal has the files of one upload:
//
//	u8   version, 2
//	i64  time of the upload, nanoseconds since 1970
//	u32  bytes of what follows
//	     the programs that the sender may write to, a JSON array, or null for all
//	     a bundle of the files, compressed with Zstandard

const (
	recordVersion = 2
	recordHead    = 13

	maxRecord = 1 << 32 // bytes of a bundle, whose limits were checked when it was uploaded
)

var codec = sync.OnceValue(func() (c struct {
	*zstd.Encoder
	*zstd.Decoder
},
) {
	var err, err2 error
	c.Encoder, err = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderCRC(false))
	c.Decoder, err2 = zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxRecord))
	if err := errors.Join(err, err2); err != nil {
		panic(err) // of options that are constants
	}
	return c
})

func encodeRecord(time int64, items []inbox.Item) ([]byte, error) {
	body, err := inbox.Bundle(items)
	if err != nil {
		return nil, err
	}
	var claims []byte
	if len(items) > 0 {
		if claims, err = json.Marshal(items[0].Claims); err != nil {
			return nil, err
		}
	}
	head := binary.LittleEndian.AppendUint64([]byte{recordVersion}, uint64(time))
	head = append(binary.LittleEndian.AppendUint32(head, uint32(len(claims))), claims...)
	return codec().EncodeAll(body, head), nil
}

func decodeRecord(data []byte) (time int64, items []inbox.Item, err error) {
	if len(data) < recordHead || data[0] != recordVersion {
		return 0, nil, fmt.Errorf("a record that this version of cairn does not know: it begins with %x", data[:min(len(data), recordHead)])
	}
	n := int64(binary.LittleEndian.Uint32(data[9:]))
	if n > int64(len(data)-recordHead) {
		return 0, nil, fmt.Errorf("a record of %d bytes whose list of programs has %d", len(data), n)
	}
	var claims []string
	if n > 0 {
		if err := json.Unmarshal(data[recordHead:recordHead+n], &claims); err != nil {
			return 0, nil, fmt.Errorf("list of programs: %w", err)
		}
	}
	body, err := codec().DecodeAll(data[recordHead+n:], nil)
	if err != nil {
		return 0, nil, err
	}
	items, refused, err := inbox.Open(body, inbox.Limits{Files: maxRecord, File: maxRecord, Total: maxRecord})
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("file %d of it: %s", refused[0].Index, refused[0].Reason)
	}
	for i := range items {
		items[i].Claims = claims
	}
	return int64(binary.LittleEndian.Uint64(data[1:])), items, err
}
