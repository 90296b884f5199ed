package nativert

import (
	"fmt"
	"strings"

	"github.com/cairnprof/cairn/format/mip/wire"
	tracewire "github.com/cairnprof/cairn/format/tracelog/wire"
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
	number("RAW_RUN_OFFSET", wire.RawRunOffset)
	number("RAW_CONTINUOUS", wire.RawContinuous)
	number("RAW_SINGLE", wire.RawSingle)
	number("RAW_SEALED", wire.RawSealed)
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

// timedHeader returns timedwire.h: the constants of the log of the timed modes.
func timedHeader() []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "/* Generated from package format/tracelog/wire. */\n#define LOG_MAGIC %q\n#define LOG_SUFFIX %q\n",
		tracewire.Magic, tracewire.Suffix)
	for _, c := range []struct {
		name  string
		value uint32
	}{
		{"VERSION", tracewire.Version},
		{"HEADER_SIZE", tracewire.HeaderSize},
		{"FORKED", tracewire.Forked},
		{"FLIGHT", tracewire.Flight},
		{"FLIGHT_ENDS", tracewire.Ends},
		{"CHUNK_SIZE", tracewire.ChunkSize},
		{"CHUNK_MAGIC", tracewire.ChunkMagic},
		{"CHUNK_HEADER_SIZE", tracewire.ChunkHeaderSize},
		{"KIND_RECORDS", tracewire.KindRecords},
		{"KIND_SEEN", tracewire.KindSeen},
		{"KIND_QUEUE", tracewire.KindQueue},
		{"QUEUES", tracewire.Queues},
		{"QUEUE_SIZE", tracewire.QueueSize},
		{"QUEUE_HEADER_SIZE", tracewire.QueueHeaderSize},
		{"QUEUE_ROOM", tracewire.QueueRoom},
		{"TYPE_MODULE", tracewire.TypeModule},
		{"TYPE_EPISODE", tracewire.TypeEpisode},
		{"TYPE_PARENT", tracewire.TypeParent},
		{"TYPE_THREAD", tracewire.TypeThread},
		{"TYPE_STALL", tracewire.TypeStall},
		{"TYPE_TRAILER", tracewire.TypeTrailer},
		{"TYPE_TEXT", tracewire.TypeText},
		{"TYPE_SEEN", tracewire.TypeSeen},
		{"TYPE_USAGE", tracewire.TypeUsage},
		{"USAGE_SIZE", tracewire.UsageSize},
		{"KIND_TREE", tracewire.KindTree},
		{"TYPE_TREE", tracewire.TypeTree},
		{"TYPE_NODE", tracewire.TypeNode},
		{"NODE_SIZE", tracewire.NodeSize},
		{"NODE_UNTIMED", tracewire.NodeUntimed},
		{"NODE_LONGEST", tracewire.NodeLongest},
		{"CHUNK_NUMBER_OFFSET", tracewire.ChunkNumberOffset},
		{"KIND_FLIGHT", tracewire.KindFlight},
		{"CHUNK_KIND_OFFSET", tracewire.ChunkKindOffset},
		{"CHUNK_PID_OFFSET", tracewire.ChunkPIDOffset},
		{"CHUNK_TID_OFFSET", tracewire.ChunkTIDOffset},
		{"CHUNK_SEQUENCE_OFFSET", tracewire.ChunkSequenceOffset},
		{"CHUNK_USED_OFFSET", tracewire.ChunkUsedOffset},
		{"CHUNK_FIRST_OFFSET", tracewire.ChunkFirstOffset},
		{"CHUNK_LAST_OFFSET", tracewire.ChunkLastOffset},
		{"CHUNK_EPISODE_OFFSET", tracewire.ChunkEpisodeOffset},
		{"CHUNK_TOP_OFFSET", tracewire.ChunkTopOffset},
		{"STACK_SHIFT", tracewire.StackShift},
		{"STACK_UNKNOWN", tracewire.StackUnknown},
		{"FLIGHT_TIME", tracewire.FlightTime},
		{"FLIGHT_EXIT", tracewire.FlightExit},
		{"FLIGHT_STACK", tracewire.FlightStack},
		{"FLIGHT_HANDLERS", tracewire.FlightHandlers},
		{"FLIGHT_LEAD", tracewire.FlightLead},
		{"TYPE_TRACE", tracewire.TypeTrace},
		{"KIND_EVENTS", tracewire.KindEvents},
		{"TRACE_SIZE", tracewire.TraceSize},
		{"CLOCK_UNIT", tracewire.ClockUnit},
		{"MODE_TRACE", tracewire.ModeTrace},
		{"MODULE_SIZE", tracewire.ModuleSize},
		{"EPISODE_SIZE", tracewire.EpisodeSize},
		{"ENTRY_SIZE", tracewire.EntrySize},
		{"PARENT_SIZE", tracewire.ParentSize},
		{"THREAD_SIZE", tracewire.ThreadSize},
		{"STALL_SIZE", tracewire.StallSize},
		{"TRAILER_SIZE", tracewire.TrailerSize},
		{"TEXT_SIZE", tracewire.TextSize},
		{"SEEN_SIZE", tracewire.SeenSize},
		{"TYPE_SETTING", tracewire.TypeSetting},
		{"SETTING_SIZE", tracewire.SettingSize},
		{"SETTING_OFF", tracewire.SettingOff},
		{"KIND_FRAMES", tracewire.KindFrames},
		{"TYPE_FRAMES", tracewire.TypeFrames},
		{"FRAMES_SIZE", tracewire.FramesSize},
		{"FRAME_BUCKETS", tracewire.FrameBuckets},
		{"FRAMES_LONGEST", tracewire.FramesLongest},
		{"MAX_BUILD_ID", tracewire.MaxBuildID},
		{"MAX_ENTRIES", tracewire.MaxEntries},
		{"MAX_TEXT", tracewire.MaxText},
		{"MAX_PATH", tracewire.MaxPath},
		{"MODULE_MAIN", tracewire.ModuleMain},
		{"MODULE_INSTRUMENTED", tracewire.ModuleInstrumented},
		{"MODULE_UNLOADED", tracewire.ModuleUnloaded},
		{"EPISODE_PREEMPTED", tracewire.EpisodePreempted},
		{"EPISODE_BEFORE_FORK", tracewire.EpisodeBeforeFork},
		{"EPISODE_CUT", tracewire.EpisodeCut},
		{"EPISODE_NO_UNWINDER", tracewire.EpisodeNoUnwinder},
		{"EPISODE_CALLER_ONLY", tracewire.EpisodeCallerOnly},
		{"EPISODE_CHILDREN_CUT", tracewire.EpisodeChildrenCut},
		{"EPISODE_SNAPSHOT", tracewire.EpisodeSnapshot},
		{"ENTRY_NO_STAMP", tracewire.EntryNoStamp},
		{"ENTRY_BEFORE_FORK", tracewire.EntryBeforeFork},
		{"ENTRY_EXACT", tracewire.EntryExact},
		{"ENTRY_GAP", tracewire.EntryGap},
		{"ENTRY_IGNORED", tracewire.EntryIgnored},
		{"TRAILER_FINAL", tracewire.TrailerFinal},
		{"TRAILER_OFF", tracewire.TrailerOff},
		{"TICK_THREAD", tracewire.TickThread},
		{"TICK_SIGNAL", tracewire.TickSignal},
		{"TICK_EXACT", tracewire.TickExact},
		{"TEXT_DESCRIPTION", tracewire.TextDescription},
		{"TEXT_MESSAGE", tracewire.TextMessage},
		{"TEXT_SECTION", tracewire.TextSection},
	} {
		fmt.Fprintf(&b, "#define LOG_%s %du\n", c.name, c.value)
	}
	return []byte(b.String())
}
