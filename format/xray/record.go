package xray

import (
	"strconv"

	"github.com/cairnprof/cairn/calllog"
)

// RecordKind is the kind of a record in a file.
type RecordKind uint8

// The kinds of records. Those of FDR metadata have the numbers of the format;
// basic logs have calls and arguments only.
const (
	NewBuffer  RecordKind = 0 // a block of a thread begins
	EndBuffer  RecordKind = 1 // it ends; what follows is filler
	NewCPU     RecordKind = 2 // the CPU and the time
	ClockWrap  RecordKind = 3 // the time: more than a delta holds, or a clock that went back
	WallTime   RecordKind = 4 // time since boot when the block began
	CustomData RecordKind = 5 // a custom event
	Argument   RecordKind = 6 // of the call before
	Extents    RecordKind = 7 // how long the block is
	TypedData  RecordKind = 8 // a typed event
	Process    RecordKind = 9 // the process id
	Call       RecordKind = 10
	Padding    RecordKind = 11 // zeros, or what follows the end of a block
)

var recordNames = [...]string{
	"new buffer", "end of buffer", "new CPU", "clock wrap", "wall time", "custom event",
	"argument", "extents", "typed event", "process", "call", "padding",
}

func (k RecordKind) String() string {
	if int(k) < len(recordNames) {
		return recordNames[k]
	}
	return "kind " + strconv.Itoa(int(k))
}

// Record is one record of a file, unchanged.
type Record struct {
	Kind         RecordKind
	Offset, Size int64 // in the file, in bytes, with its data

	// The state of the thread after the record.
	PID, TID uint32
	CPU      uint16
	Time     uint64 // ticks, 0 before the first that is known

	// Delta is what a call or an event of an FDR log adds to the time.
	Delta int64
	// Event and Func are those of a call.
	Event calllog.Kind
	Func  calllog.FuncID
	// Value is an argument, or how many bytes follow Extents.
	Value uint64
	// Seconds and Micros are of WallTime.
	Seconds int64
	Micros  int32
	// Data is that of an event, Type the type of a typed one. The memory of Data
	// is used again.
	Data []byte
	Type uint16
}
