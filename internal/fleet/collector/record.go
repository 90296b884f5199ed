package collector

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/cairnprof/cairn/internal/fleet/inbox"
)

// A record of the journal has the files of one upload:
//
//	u8   version, 1
//	i64  time of the upload, nanoseconds since 1970
//	     a bundle of the files, compressed with Zstandard

const (
	recordVersion = 1
	recordHead    = 9

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
	head := binary.LittleEndian.AppendUint64([]byte{recordVersion}, uint64(time))
	return codec().EncodeAll(body, head), nil
}

func decodeRecord(data []byte) (time int64, items []inbox.Item, err error) {
	if len(data) < recordHead || data[0] != recordVersion {
		return 0, nil, fmt.Errorf("a record that this version of cairn does not know: it begins with %x", data[:min(len(data), recordHead)])
	}
	body, err := codec().DecodeAll(data[recordHead:], nil)
	if err != nil {
		return 0, nil, err
	}
	items, refused, err := inbox.Open(body, inbox.Limits{Files: maxRecord, File: maxRecord, Total: maxRecord})
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("file %d of it: %s", refused[0].Index, refused[0].Reason)
	}
	return int64(binary.LittleEndian.Uint64(data[1:])), items, err
}
