package nativert

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/format/mip/wire"
)

// header returns wire.h: the format constants for the C and assembly sources.
func header() []byte {
	var b strings.Builder
	b.WriteString("/* Generated from package wire. */\n")
	text := func(name, value string) { fmt.Fprintf(&b, "#define CAIRN_%s %q\n", name, value) }
	number := func(name string, value int64) { fmt.Fprintf(&b, "#define CAIRN_%s %d\n", name, value) }
	text("RAW_SECTION", wire.RawSection)
	text("ORDER_SECTION", wire.OrderSection)
	text("RAW_MAGIC", wire.RawMagic)
	number("RAW_VERSION", wire.RawVersion)
	number("RAW_HEADER_SIZE", wire.RawHeaderSize)
	number("RAW_FLAGS_OFFSET", wire.RawFlagsOffset)
	number("RAW_SIZE_OFFSET", wire.RawSizeOffset)
	number("RAW_CHECKSUM_OFFSET", wire.RawChecksumOffset)
	number("RAW_PID_OFFSET", wire.RawPIDOffset)
	number("RAW_ID_LEN_OFFSET", wire.RawIDLenOffset)
	number("RAW_SCENARIO_LEN_OFFSET", wire.RawScenarioLenOffset)
	number("RAW_ID_OFFSET", wire.RawIDOffset)
	number("RAW_SLOTS_OFFSET", wire.RawSlotsOffset)
	number("RAW_NEXT_AT_OFFSET", wire.RawNextAtOffset)
	number("RAW_CONTINUOUS", wire.RawContinuous)
	number("MAX_BUILD_ID", wire.MaxBuildID)
	number("MAX_SCENARIO", wire.MaxScenario)
	number("SLOT_SIZE", wire.SlotSize)
	number("PAGE_SIZE", wire.PageSize)
	number("ORDER_OFFSET", wire.OrderOffset)
	number("CALLER_OFFSET", wire.CallerOffset)
	fmt.Fprintf(&b, "#define CAIRN_ORDER_INEXACT %#x\n", uint32(wire.OrderInexact))
	fmt.Fprintf(&b, "#define CAIRN_CALLER_OUTSIDE %#x\n", uint32(1<<31))
	b.WriteString("#define CAIRN_FNV_BASIS 2166136261u\n#define CAIRN_FNV_PRIME 16777619u\n")
	return []byte(b.String())
}
