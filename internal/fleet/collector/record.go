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
//	u8   version, 3
//	i64  time of the upload, nanoseconds since 1970
//	u32  bytes of what follows
//	     the sender, a JSON object; of version 2 only its programs
//	     a bundle of the files, compressed with Zstandard

const (
	recordVersion = 3
	recordHead    = 13

	maxRecord = 1 << 32 // bytes of a bundle, whose limits were checked when it was uploaded
)

// sender is who sent an upload.
type sender struct {
	Programs []string `json:"programs"`        // that it may write to, null for all
	Token    string   `json:"token,omitempty"` // its name
}

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
	var from []byte
	if len(items) > 0 {
		if from, err = json.Marshal(sender{items[0].Claims, items[0].Sender}); err != nil {
			return nil, err
		}
	}
	head := binary.LittleEndian.AppendUint64([]byte{recordVersion}, uint64(time))
	head = append(binary.LittleEndian.AppendUint32(head, uint32(len(from))), from...)
	return codec().EncodeAll(body, head), nil
}

func decodeRecord(data []byte) (time int64, items []inbox.Item, err error) {
	if len(data) < recordHead || data[0] != recordVersion && data[0] != 2 {
		return 0, nil, fmt.Errorf("a record that this version of cairn does not know: it begins with %x", data[:min(len(data), recordHead)])
	}
	n := int64(binary.LittleEndian.Uint32(data[9:]))
	if n > int64(len(data)-recordHead) {
		return 0, nil, fmt.Errorf("a record of %d bytes whose sender has %d", len(data), n)
	}
	var from sender
	if n > 0 {
		into := any(&from)
		if data[0] == 2 {
			into = &from.Programs
		}
		if err := json.Unmarshal(data[recordHead:recordHead+n], into); err != nil {
			return 0, nil, fmt.Errorf("sender: %w", err)
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
		items[i].Claims, items[i].Sender = from.Programs, from.Token
	}
	return int64(binary.LittleEndian.Uint64(data[1:])), items, err
}
