// Package pseudoprobe reads the tables of pseudo probes that clang -fpseudo-probe-for-profiling stores in a
// binary. A pseudo probe is not code: it maps an address to a block or a call of a function before
// optimisation, and to the place into which that function was inlined. Sample profiles that are keyed by probes
// survive changes of lines.
//
// .pseudo_probe_desc describes the functions, one record after another:
//
//	u64 GUID | u64 checksum of the control flow | ULEB128 length | name
//
// .pseudo_probe has a record for each function with code, with those of what was inlined into it inside:
//
//	function := u64 GUID | ULEB128 probes | ULEB128 inlinees
//	            | probes x probe | inlinees x (ULEB128 id of the call, function)
//	probe    := ULEB128 id | u8 packed | address | [ULEB128 discriminator]
//	packed   := bits 0-3 kind, bits 4-6 attributes, bit 7 form of the address
//	address  := bit 7 set: SLEB128, from the address of the probe before
//	            bit 7 clear: u64
//
// A function's first address is relative to the symbol whose name has its GUID. Where its code is elsewhere, a
// sentinel comes first: a probe whose address is the GUID of the symbol that has it.
//
// Tables of large programs have tens of millions of probes, so they are read into flat arrays without pointers,
// and nothing is kept for unwanted functions.
package pseudoprobe

import (
	"crypto/md5"
	"encoding/binary"
)

// GUID returns the number of the function with this linkage name.
func GUID(name string) uint64 {
	sum := md5.Sum([]byte(name))
	return binary.LittleEndian.Uint64(sum[:])
}
