// Package mippack packs raw files for transport: many files of few builds into one of about a byte for each
// function that ran.
//
// General compressors do poorly on raw files: the order of first executions is a permutation, in which no
// string of bytes comes twice. Here it is coded as one, with an adaptive range coder (image.go and order.go say
// how), and later runs of a build are coded relative to earlier ones. Unpacked files are identical to the byte.
//
// # Pack (.mippack)
//
// All numbers are little-endian; uv is an unsigned LEB128 number, str a string after its length as uv.
//
//	0   [8]   "CAIRNPCK"
//	8   u16   version: 2, or 3 if a file has odd flags; readers refuse any other
//	10  u16   0
//	12  u32   CRC-32 (IEEE) of the body
//	16  u64   length of the body
//	24        body:
//	uv    number of builds, each:
//	str     build id, bytes
//	str     module, as the names of its files begin
//	uv    number of files, each:
//	u8      1 if it is coded field by field, 0 if byte for byte, as live memory
//	        and damaged files are; +2 if its name is
//	        MODULE.BUILDID.PID.N.mipraw; +4, only with 1, if the process never
//	        had a second thread; +8 if most flags have the odd values of Armv7
//	uv      build, only with 1
//	uv      process id, only with 1
//	u64     run, only with 1
//	uv      size of the raw section, only with 1
//	uv      bytes of its image in the file, or of the file byte for byte
//	str     scenario, only with 1
//	uv      slots of the order buffer, only with 1
//	uv      first executions, only with 1
//	uv      N, with +2; without it
//	str     name
//	      rest: one stream of the range coder. For each file in turn its image;
//	      if first executions are in the file, for each byte of the image that
//	      is not zero, in order of address, a bit that is 1 if it is a record
//	      among them; then their order.
//
// A file byte for byte is coded like an image.
package mippack

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/format/mip"
	"github.com/cairnprof/cairn/prof"
)

// Magic begins a pack.
const Magic = "CAIRNPCK"

// Maxima of what Unpack accepts and Pack makes.
const (
	MaxFiles  = 1 << 16 // files in a pack
	MaxBuilds = 1 << 10 // builds that they are of
	MaxName   = 255     // bytes of a file's name
	MaxTotal  = 1 << 28 // bytes of all files unpacked, and of one
	MaxFirsts = 1 << 24 // first executions in all files: some two minutes' work

	version    = 2
	versionOdd = 3 // of a pack with flagOdd
	headerSize = 24
	minFile    = 4       // bytes of a file in the list
	maxRatio   = 1 << 14 // a zero takes log2(1/(1-bitFloor/bitOne)) bits, a byte's 11363rd part
)

const (
	kindCoded  = 1
	flagNamed  = 2
	flagSingle = 4
	flagOdd    = 8
)

// ErrNewer is in the error of a reader that is older than its input.
var ErrNewer = errors.New("it requires a newer version of cairn")

// File is a raw file.
type File struct {
	Name string // base name
	Data []byte
}

// Detect reports whether a file that starts with head is a pack.
func Detect(head []byte) bool { return bytes.HasPrefix(head, []byte(Magic)) }

// entry is a file in the list of a pack.
type entry struct {
	name   string
	kind   uint8
	build  int
	number uint64 // N of the name
	raw    mip.Raw
	stored uint64 // bytes of the image
	data   []byte // byte for byte
}

// build is a build in the list of a pack.
type build struct {
	id     prof.BuildID
	module string
}

// fileName returns the runtime's name for a raw file of a build.
func (b *build) fileName(pid uint32, number uint64) string {
	return fmt.Sprintf("%s.%s.%d.%d.mipraw", b.module, b.id, pid, number)
}

// checkName refuses names that are not a file in the target directory.
func checkName(name string) error {
	if name == "" || name == "." || name == ".." || len(name) > MaxName || strings.ContainsAny(name, "/\\\x00") {
		return fmt.Errorf("%.60q cannot be the name of a file in a pack", name)
	}
	return nil
}
