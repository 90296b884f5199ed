package machoimage

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// A program has an ad hoc signature if the Go linker gave it one: hashes of its pages, without
// which arm64 Macs end it. What is written here is, byte for byte, what cmd/internal/codesign
// writes: the go command changes the program's build id afterwards, and signs again in place if
// the signature has that size.
const (
	hashPage    = 4096
	identifier  = "a.out\x00"
	superSize   = 12 // head of the signature
	blobSize    = 8  // entry of its list of parts
	directory   = 88 // head of the only part, the code directory
	hashSize    = sha256.Size
	mainProgram = 1
	executable  = 2 // type of the file
)

// signatureSize returns the size of a signature of n bytes.
func signatureSize(n int) int {
	return superSize + blobSize + directory + len(identifier) + (n+hashPage-1)/hashPage*hashSize
}

// sign writes the signature of a file that has one, at its end.
func (f *File) sign() error {
	c := f.find(cmdSignature, 16)
	if c == nil {
		return nil
	}
	at, was := int(le.Uint32(c[8:])), int(le.Uint32(c[12:]))
	if at+was != len(f.data) {
		return fmt.Errorf("the code signature of %d bytes at %#x is not the end of the file", was, at)
	}
	size := signatureSize(at)
	le.PutUint32(c[12:], uint32(size))
	if link, ok := f.segment("__LINKEDIT"); ok {
		inFile := uint64(at+size) - link.off()
		le.PutUint64(link.data[48:], inFile)
		le.PutUint64(link.data[32:], max(le.Uint64(link.data[32:]), inFile))
	}
	f.data = append(f.data[:at:at], f.signature(at, size)...)
	out, err := Parse(f.data)
	if err == nil {
		*f = *out
	}
	return err
}

// signature returns the signature of the first n bytes.
func (f *File) signature(n, size int) []byte {
	pages := (n + hashPage - 1) / hashPage
	be := binary.BigEndian
	var b []byte
	put := func(words ...uint32) {
		for _, w := range words {
			b = be.AppendUint32(b, w)
		}
	}
	put(0xfade0cc0, uint32(size), 1)
	put(0, superSize+blobSize)
	put(0xfade0c02, uint32(size-superSize-blobSize), 0x20400, 0x20002) // version; ad hoc, by a linker
	put(uint32(directory+len(identifier)), directory, 0, uint32(pages), uint32(n))
	b = append(b, hashSize, 2, 0, 12) // SHA-256, of pages of 1<<12 bytes
	put(0, 0, 0, 0)
	b = be.AppendUint64(b, 0)
	text, _ := f.segment("__TEXT")
	b = be.AppendUint64(b, text.off())
	b = be.AppendUint64(b, uint64(text.inFile()))
	flags := uint64(0)
	if le.Uint32(f.data[12:]) == executable {
		flags = mainProgram
	}
	b = be.AppendUint64(b, flags)
	b = append(b, identifier...)
	for p := 0; p < n; p += hashPage {
		sum := sha256.Sum256(f.data[p:min(p+hashPage, n)])
		b = append(b, sum[:]...)
	}
	return b
}
