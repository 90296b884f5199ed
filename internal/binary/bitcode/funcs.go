package bitcode

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cairnprof/cairn/internal/stablesort"
)

// Func is a function that a module defines.
type Func struct {
	Name   string
	Shared bool   // other modules may have the same function, as of inline functions and templates
	File   string // where it is defined, by debug information; "" if that is not known
	Line   uint32
	Lines  []Line   // of its instructions, ascending, each once
	Refs   []string // names that its code refers to, functions and data; none if the module has no summary
	Insts  uint64   // number of its instructions, by the summary
	// Effects reports that it calls functions of other modules, or refers to data to write it.
	Effects bool
}

// Line is a line of a source file.
type Line struct {
	File string
	Line uint32
}

// Data is a variable or constant that a module defines, or another name of a function.
type Data struct {
	Name string
	Refs []string // names that it refers to
}

// Code is the code of a module.
type Code struct {
	Funcs []Func
	Data  []Data // that refer to anything
}

// Blocks and records of code, as LLVM's LLVMBitCodes.h numbers them.
const (
	infoBlock       = 0
	functionBlock   = 12
	metadataBlock   = 15
	attachmentBlock = 16

	infoBlockID = 1 // of infoBlock

	moduleGlobal   = 7 // of moduleBlock
	moduleFunction = 8
	moduleAlias    = 14
	moduleIFunc    = 15

	functionLocation = 35 // of functionBlock

	metaName       = 4 // of metadataBlock, those that make no node
	metaKind       = 6
	metaNamed      = 10
	metaAttachment = 11
	metaStrings    = 35
	metaGlobals    = 36
	metaOffset     = 38
	metaIndex      = 39

	metaFile      = 16 // and those that are read
	metaFunction  = 21
	metaBlock     = 22
	metaBlockFile = 23

	summaryFunction        = 1 // of summaries
	summaryFunctionProfile = 2
	summaryData            = 3
	summaryAlias           = 7
	summaryFunctionBlocks  = 19
	summaryVTable          = 23
)

const (
	maxRecord = 1 << 26 // numbers in a record
	maxValues = 1 << 24 // functions and variables, strings and nodes
	maxScopes = 1 << 10 // nested
)

// ReadCode reads the functions of a module: their places by debug information, and by the summary for link-time
// optimisation what they refer to.
func ReadCode(data []byte) (*Code, error) {
	body, err := unwrap(data)
	if err != nil {
		return nil, err
	}
	c := &codeReader{reader: reader{data: body, pos: 32, kind: Full}, info: map[uint64][][]operand{}, files: map[int]string{}}
	for c.err == nil && c.pos+32 <= len(body)*8 {
		c.blocks(2, nil, func(id uint64, width uint) {
			if id == stringsBlock {
				c.reader.block(width, stringsBlock)
			}
		}, nil)
	}
	if c.err != nil {
		return nil, c.err
	}
	c.pos = 32
	for c.err == nil && c.pos+32 <= len(body)*8 {
		c.blocks(2, nil, func(id uint64, width uint) {
			if id == moduleBlock {
				c.module(width)
			}
		}, nil)
	}
	if c.err != nil {
		return nil, c.err
	}
	return c.code(), nil
}

// codeReader reads the code of the modules of a file.
type codeReader struct {
	reader
	info map[uint64][][]operand // abbreviations that all blocks of a kind have

	values []value // of a module: variables, functions, other names
	bodies []int   // indexes of the functions with a body, in their order
	nodes  []node  // of metadata
	files  map[int]string
	out    Code
}

// value is a function, a variable or another name of a module.
type value struct {
	name    string
	defined bool
	outside bool  // a function of another module
	fn      *Func // nil for others
	refs    []int
}

// node is an element of metadata.
type node struct {
	kind              uint64 // 0 for those that are not read
	text              string // of a string
	scope, file, line int    // numbers of nodes, from 1 on
	name, dir         int
}

// blocks visits the blocks and records at a level, up to its end.
func (c *codeReader) blocks(width uint, abbreviations [][]operand, enter func(id uint64, width uint), record func(code uint64, ops []uint64, text []byte)) {
	top := record == nil
	var ops []uint64
	for c.err == nil {
		if top && c.pos+32 > len(c.data)*8 {
			return
		}
		switch id := c.fixed(width); id {
		case endBlock:
			c.align()
			return
		case enterBlock:
			id, inner := c.vbr(8), uint(c.vbr(4))
			c.align()
			size := c.fixed(32)
			end := c.pos + int(size)*32
			if end > len(c.data)*8 {
				c.failf("a block of %d bytes, longer than the file", size*4)
			}
			if c.err != nil {
				return
			}
			enter(id, inner)
			c.pos = end
		case defineAbbreviation:
			if abbreviations = append(abbreviations[:len(abbreviations):len(abbreviations)], c.abbreviation()); len(abbreviations) > maxAbbreviations {
				c.failf("more than %d abbreviations", maxAbbreviations)
			}
		case unabbreviated:
			code := c.vbr(6)
			ops = ops[:0]
			for n := c.vbr(6); n > 0 && c.err == nil; n-- {
				ops = c.append(ops, c.vbr(6))
			}
			if c.err == nil && !top {
				record(code, ops, nil)
			}
		default:
			if id-firstAbbreviation >= uint64(len(abbreviations)) {
				c.failf("abbreviation %d is not defined", id)
				return
			}
			var text []byte
			if ops, text = c.numbers(ops[:0], abbreviations[id-firstAbbreviation]); c.err == nil && len(ops) > 0 && !top {
				record(ops[0], ops[1:], text)
			}
		}
	}
}

func (c *codeReader) append(ops []uint64, v uint64) []uint64 {
	if len(ops) >= maxRecord {
		c.failf("a record of more than %d numbers", maxRecord)
		return ops
	}
	return append(ops, v)
}

// numbers reads a record by its abbreviation.
func (c *codeReader) numbers(ops []uint64, abbreviation []operand) (out []uint64, text []byte) {
	for i := 0; i < len(abbreviation) && c.err == nil; i++ {
		switch o := abbreviation[i]; o.encoding {
		case array:
			if i+2 != len(abbreviation) {
				c.failf("an array is not the last operand")
				return ops, nil
			}
			n := c.vbr(6)
			if abbreviation[i+1].encoding == literal {
				return ops, nil // elements without bits
			}
			for ; n > 0 && c.err == nil; n-- {
				ops = c.append(ops, c.scalar(abbreviation[i+1]))
			}
			return ops, nil
		case blob:
			n := c.vbr(6)
			c.align()
			start := c.pos / 8
			if c.err != nil || n > uint64(len(c.data)-min(start, len(c.data))) {
				c.failf("a blob of %d bytes, longer than the file", n)
				return ops, nil
			}
			text = c.data[start : start+int(n)]
			c.pos += int(n) * 8
			c.align()
		default:
			ops = c.append(ops, c.scalar(o))
		}
	}
	return ops, text
}

// module reads a module.
func (c *codeReader) module(width uint) {
	c.values, c.bodies, c.nodes = nil, nil, nil
	clear(c.files)
	body := 0
	c.blocks(width, nil, func(id uint64, width uint) {
		switch id {
		case infoBlock:
			c.blockInfo(width)
		case metadataBlock:
			c.metadata(width)
		case functionBlock:
			if body < len(c.bodies) {
				c.body(width, c.values[c.bodies[body]].fn)
			}
			body++
		case thinSummaryBlock, fullSummaryBlock:
			c.summary(id, width)
		}
	}, c.global)
	c.finish()
}

// blockInfo reads the abbreviations that all blocks of a kind have.
func (c *codeReader) blockInfo(width uint) {
	of, known := uint64(0), false
	for c.err == nil {
		switch id := c.fixed(width); id {
		case endBlock:
			return
		case defineAbbreviation:
			a := c.abbreviation()
			if !known || len(c.info[of]) >= maxAbbreviations {
				c.failf("an abbreviation of no block, or too many")
				return
			}
			c.info[of] = append(c.info[of], a)
		case unabbreviated:
			code := c.vbr(6)
			for i, n := uint64(0), c.vbr(6); i < n && c.err == nil; i++ {
				if v := c.vbr(6); code == infoBlockID && i == 0 {
					of, known = v, true
				}
			}
		default:
			c.failf("record %d in the block of abbreviations", id)
		}
	}
}

// Linkages of functions of which other modules may have a copy: weak and once.
var sharedLinkage = []uint64{1, 4, 10, 11, 16, 17, 18, 19}

// global reads a record of a module: its variables, functions and other names have numbers in their order.
func (c *codeReader) global(code uint64, ops []uint64, _ []byte) {
	const (
		atKind    = 4 // of a function: whether it is only declared; of a variable its initial value
		atLinkage = 5
	)
	switch code {
	case moduleGlobal, moduleFunction, moduleAlias, moduleIFunc:
	default:
		return
	}
	if len(ops) <= atLinkage || ops[0]+ops[1] > uint64(len(c.strings)) || ops[0]+ops[1] < ops[0] || ops[1] > maxSymbolLength {
		c.failf("a function or variable without a name")
		return
	}
	v := value{name: string(c.strings[ops[0] : ops[0]+ops[1]]), defined: true}
	switch code {
	case moduleGlobal:
		v.defined = ops[atKind] != 0
	case moduleFunction:
		if v.defined = ops[atKind] == 0; v.defined {
			v.fn = &Func{Name: v.name, Shared: slices.Contains(sharedLinkage, ops[atLinkage])}
			c.bodies = append(c.bodies, len(c.values))
		}
		v.outside = !v.defined
		const availableExternally = 12
		if ops[atLinkage] == availableExternally {
			v.defined = false // a copy to inline, which has no code of its own
		}
	}
	if c.values = append(c.values, v); len(c.values) > maxValues {
		c.failf("more than %d functions and variables", maxValues)
	}
}

// body reads the block of a function.
func (c *codeReader) body(width uint, fn *Func) {
	known := len(c.nodes) // what follows are nodes of this function alone
	seen := map[Line]bool{}
	c.blocks(width, c.info[functionBlock], func(id uint64, width uint) {
		switch id {
		case metadataBlock:
			c.metadata(width)
		case attachmentBlock:
			c.blocks(width, c.info[attachmentBlock], func(uint64, uint) {}, func(code uint64, ops []uint64, _ []byte) {
				if code != metaAttachment || len(ops)%2 != 0 { // of an instruction
					return
				}
				for i := 0; i < len(ops); i += 2 {
					if n := c.node(ops[i+1] + 1); ops[i] == 0 && n.kind == metaFunction {
						fn.File, fn.Line = c.file(n.file), uint32(n.line)
					}
				}
			})
		}
	}, func(code uint64, ops []uint64, _ []byte) {
		if code != functionLocation || len(ops) < 3 || ops[0] == 0 || ops[0] > 1<<31 {
			return
		}
		if file := c.scopeFile(ops[2]); file != "" {
			seen[Line{file, uint32(ops[0])}] = true
		}
	})
	for line := range seen {
		fn.Lines = append(fn.Lines, line)
	}
	stablesort.Func(fn.Lines, func(a, b Line) int { return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line)) })
	for number := range c.files {
		if number > known {
			delete(c.files, number)
		}
	}
	c.nodes = c.nodes[:known]
}

// summary reads what functions and data refer to.
func (c *codeReader) summary(id uint64, width uint) {
	c.blocks(width, c.info[id], func(uint64, uint) {}, func(code uint64, ops []uint64, _ []byte) {
		const (
			atInsts   = 2 // of a function
			atFlags   = 3
			atRefs    = 4 // number of references of a function
			atReads   = 5 // number of those that only read
			pureFlags = 3 // it does not access memory, or only reads it
			ofFunc    = 7 // numbers before these
			ofData    = 3
			ofVTable  = 4
		)
		if len(ops) == 0 || ops[0] >= uint64(len(c.values)) {
			return
		}
		v := &c.values[ops[0]]
		refer := func(numbers []uint64, step int) {
			for i := 0; i < len(numbers); i += step {
				if numbers[i] < uint64(len(c.values)) {
					v.refs = append(v.refs, int(numbers[i]))
				}
			}
		}
		switch {
		case code == summaryFunction || code == summaryFunctionProfile || code == summaryFunctionBlocks:
			if len(ops) < ofFunc || ops[atRefs] > uint64(len(ops)-ofFunc) {
				return
			}
			calls := ops[ofFunc+ops[atRefs]:]
			if v.fn != nil {
				v.fn.Insts = ops[atInsts]
				v.fn.Effects = v.fn.Effects || ops[atFlags]&pureFlags == 0 && ops[atRefs] > ops[atReads]
			}
			refer(ops[ofFunc:ofFunc+ops[atRefs]], 1)
			if code == summaryFunction {
				refer(calls, 1)
			} else {
				refer(calls, 2)
			}
		case code == summaryData && len(ops) > ofData:
			refer(ops[ofData:], 1)
		case code == summaryVTable && len(ops) > ofVTable:
			if n := ops[ofData]; n <= uint64(len(ops)-ofVTable) {
				refer(ops[ofVTable:ofVTable+n], 1)
			}
		case code == summaryAlias && len(ops) > 2:
			refer(ops[2:3], 1)
		}
	})
}

// finish adds the functions and data of the module that was read.
func (c *codeReader) finish() {
	for i := range c.values {
		v := &c.values[i]
		if !v.defined {
			continue
		}
		var refs []string
		for _, r := range v.refs {
			refs = append(refs, c.values[r].name)
		}
		slices.Sort(refs)
		refs = slices.Compact(refs)
		switch {
		case v.fn != nil:
			v.fn.Refs = refs
			v.fn.Effects = v.fn.Effects || slices.ContainsFunc(v.refs, func(r int) bool {
				return c.values[r].outside && !strings.HasPrefix(c.values[r].name, "llvm.")
			})
			c.out.Funcs = append(c.out.Funcs, *v.fn)
		case len(refs) > 0:
			c.out.Data = append(c.out.Data, Data{v.name, refs})
		}
	}
}

func (c *codeReader) code() *Code { return &c.out }
