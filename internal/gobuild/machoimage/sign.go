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

// resizeSignature makes room for the signature of a file whose size changed. The signature is at
// the end.
func (f *File) resizeSignature() error {
	c, link := f.find(cmdSignature, 16), segment{}
	if c == nil {
		return nil
	}
	link, _ = f.segment("__LINKEDIT")
	at, size := int(le.Uint32(c[8:])), int(le.Uint32(c[12:]))
	if at+size != len(f.data) {
		return fmt.Errorf("the code signature of %d bytes at %#x is not the end of the file", size, at)
	}
	size = signatureSize(at)
	le.PutUint32(c[12:], uint32(size))
	inFile := uint64(at+size) - link.off()
	le.PutUint64(link.data[48:], inFile)
	le.PutUint64(link.data[32:], max(le.Uint64(link.data[32:]), inFile))
	f.data = append(f.data[:at:at], make([]byte, size)...)
	out, err := Parse(f.data)
	if err != nil {
		return err
	}
	*f = *out
	return nil
}

// sign writes the signature of a file that has one.
func (f *File) sign() {
	c := f.find(cmdSignature, 16)
	if c == nil {
		return
	}
	at := int(le.Uint32(c[8:]))
	if at > len(f.data) || int(le.Uint32(c[12:])) != signatureSize(at) || len(f.data)-at < signatureSize(at) {
		return
	}
	size := signatureSize(at)
	pages := (at + hashPage - 1) / hashPage
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
	put(uint32(directory+len(identifier)), directory, 0, uint32(pages), uint32(at))
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
	for p := 0; p < at; p += hashPage {
		sum := sha256.Sum256(f.data[p:min(p+hashPage, at)])
		b = append(b, sum[:]...)
	}
	copy(f.data[at:], b)
}
