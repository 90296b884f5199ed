package perfdata

// The structure of the file, from perf.data-file-format.txt and perf_event.h of the kernel, version 6.

const (
	magic      = "PERFILE2"
	magicBig   = "2ELIFREP" // written with the other byte order
	magicOld   = "PERFFILE" // before Linux 3.4
	headerSize = 104
	pipeHeader = 16
)

// Features of the header that are read, by their bits.
const (
	featureBuildID   = 2
	featureHostname  = 3
	featureCommand   = 11
	featureEventDesc = 12
	featurePerf      = 128 // those from here on are of other tools
	features         = 256
)

// Types of records.
const (
	recordMmap          = 1
	recordLost          = 2
	recordComm          = 3
	recordExit          = 4
	recordFork          = 7
	recordSample        = 9
	recordMmap2         = 10
	recordAux           = 11 // what was added to the buffer of a trace
	recordItraceStart   = 12 // a trace of a thread begins
	recordLostSamples   = 13
	recordSwitch        = 14
	recordSwitchCPU     = 15
	recordCallchain     = 22 // PERF_RECORD_CALLCHAIN_DEFERRED
	recordKernelEnd     = 64 // types from here are perf's own
	recordAttr          = 64
	recordTracingData   = 66
	recordBuildID       = 67
	recordFinishedRound = 68
	recordAuxTraceInfo  = 70
	recordAuxTrace      = 71
	recordTimeConv      = 79
	recordFeature       = 80
	recordCompressed    = 81
	recordCompressed2   = 83
)

// Bits of the misc of a record.
const (
	miscBuildID     = 1 << 14 // of MMAP2: there is a build id in place of the inode
	miscCommExec    = 1 << 13 // of COMM: the process began a program
	miscMmapData    = 1 << 13 // of MMAP: it cannot be executed
	miscSwitchOut   = 1 << 13 // of SWITCH: the thread stops running
	miscBuildIDSize = 1 << 15 // of BUILD_ID: its size is there
)

// Bits of the flags of AUX.
const (
	auxTruncated = 1 << 0 // the buffer was full
	auxPartial   = 1 << 2 // tracing stopped meanwhile
	auxCollision = 1 << 3 // an operation was sampled while the one before was not yet recorded
)

// Bits of sample_type, in the order of bits.
const (
	sampleIP          = 1 << 0
	sampleTID         = 1 << 1
	sampleTime        = 1 << 2
	sampleAddr        = 1 << 3
	sampleRead        = 1 << 4
	sampleCallchain   = 1 << 5
	sampleID          = 1 << 6
	sampleCPU         = 1 << 7
	samplePeriod      = 1 << 8
	sampleStreamID    = 1 << 9
	sampleRaw         = 1 << 10
	sampleBranchStack = 1 << 11
	sampleRegsUser    = 1 << 12
	sampleStackUser   = 1 << 13
	sampleIdentifier  = 1 << 16
)

// Bits of read_format.
const (
	readEnabled = 1 << 0
	readRunning = 1 << 1
	readID      = 1 << 2
	readGroup   = 1 << 3
	readLost    = 1 << 4
)

const (
	branchCounters  = 1 << 19 // of branch_sample_type: a word for each branch after the branches
	branchHWIndex   = 1 << 17 // of branch_sample_type: a number before the branches
	branchAny       = 1 << 3
	branchCallStack = 1 << 11 // the "branches" are open calls, as with --call-graph lbr
	// branchSome are calls, returns and other kinds of branches by themselves.
	branchSome     = 1<<4 | 1<<5 | 1<<6 | 1<<10 | 1<<12 | 1<<13
	branchMispred  = 1 << 0 // of the flags of a branch
	branchSpecAt   = 24     // place and
	branchSpecBits = 2      // size of what became of a speculation, in the flags of a branch
	branchSpec     = 1<<branchSpecBits - 1
	specWrongPath  = 1       // one of these: the branch was not executed
	attrIDAll      = 1 << 18 // of the flags of an event: all records have an id
	protExec       = 4
	contextMarkers = 1<<64 - 4095 // of callchains: numbers from here are no addresses
	// contextUserDeferred is a marker of callchains, since Linux 6.19: a number follows it, by which a later record
	// with the addresses of the program (recordCallchain) says to which samples these belong.
	contextUserDeferred = 1<<64 - 640
)
