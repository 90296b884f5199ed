package parquet

import "encoding/binary"

// The numbers of parquet.thrift.
const (
	physicalBoolean   = 0
	physicalInt32     = 1
	physicalInt64     = 2
	physicalDouble    = 5
	physicalByteArray = 6

	required, optional, repeated = 0, 1, 2

	convertedText, convertedList, convertedDate             = 0, 3, 6
	convertedUint64, convertedInt32, convertedInt64         = 14, 17, 18
	logicalText, logicalList, logicalDate                   = 1, 3, 6
	logicalTime, logicalInteger                             = 8, 10
	encodingPlain, encodingRLE, encodingDelta, encodingDict = 0, 3, 5, 8

	codecZstd   = 6
	nanoseconds = 3
	version     = 2
)

// physical returns the physical type of the column.
func (c *Column) physical() int64 {
	switch c.Type {
	case Int32, Date:
		return physicalInt32
	case Double:
		return physicalDouble
	case Bool:
		return physicalBoolean
	case Text:
		return physicalByteArray
	}
	return physicalInt64
}

func (c *Column) encoding() int64 {
	switch c.Encoding {
	case Dict:
		return encodingDict
	case Delta:
		return encodingDelta
	}
	return encodingPlain
}

// path returns the names of the column's nodes in the schema.
func (c *Column) path() []string {
	if c.List {
		return []string{c.Name, "list", "element"}
	}
	return []string{c.Name}
}

// group is a group of rows that was written.
type group struct {
	rows, at int64
	chunks   []chunk
}

// footer returns the end of the file, FileMetaData.
func (w *Writer) footer() []byte {
	var t thrift
	t.begin()
	t.number(1, version)
	w.schema(&t)
	t.long(3, w.rows)
	t.list(4, kindStruct, len(w.groups))
	for i := range w.groups {
		w.rowGroup(&t, &w.groups[i], i)
	}
	t.list(5, kindStruct, len(w.options.Metadata))
	for _, m := range w.options.Metadata {
		t.begin()
		t.text(1, m[0])
		t.text(2, m[1])
		t.end()
	}
	t.text(6, w.options.CreatedBy)
	t.list(7, kindStruct, len(w.columns)) // orders of the columns
	for range w.columns {
		t.begin()
		t.structure(1) // as the type defines it
		t.end()
		t.end()
	}
	t.end()
	return t.to
}

func (w *Writer) schema(t *thrift) {
	elements := 1
	for _, c := range w.columns {
		elements += len(c.path())
	}
	t.list(2, kindStruct, elements)
	t.begin()
	t.text(4, w.options.Name)
	t.number(5, int64(len(w.columns)))
	t.end()
	for _, c := range w.columns {
		c.schema(t)
	}
}

// schema writes the elements of a column.
func (c *Column) schema(t *thrift) {
	name, repetition := c.Name, int64(required)
	if c.Optional {
		repetition = optional
	}
	if c.List {
		t.begin()
		t.number(3, required)
		t.text(4, c.Name)
		t.number(5, 1)
		t.number(6, convertedList)
		t.structure(10)
		t.structure(logicalList)
		t.end()
		t.end()
		t.end()
		t.begin()
		t.number(3, repeated)
		t.text(4, "list")
		t.number(5, 1)
		t.end()
		name = "element"
	}
	t.begin()
	t.number(1, c.physical())
	t.number(3, repetition)
	t.text(4, name)
	c.meaning(t)
	t.end()
}

// meaning writes the logical type, and the older converted type where there is one.
func (c *Column) meaning(t *thrift) {
	converted, logical := int64(-1), 0
	switch c.Type {
	case Text:
		converted, logical = convertedText, logicalText
	case Date:
		converted, logical = convertedDate, logicalDate
	case Int32:
		converted, logical = convertedInt32, logicalInteger
	case Int64:
		converted, logical = convertedInt64, logicalInteger
	case Uint64:
		converted, logical = convertedUint64, logicalInteger
	case Time:
		logical = logicalTime
	default:
		return
	}
	if converted >= 0 {
		t.number(6, converted)
	}
	t.structure(10)
	t.structure(logical)
	switch logical {
	case logicalInteger:
		width := byte(64)
		if c.Type == Int32 {
			width = 32
		}
		t.small(1, width)
		t.truth(2, c.Type != Uint64)
	case logicalTime:
		t.truth(1, true) // UTC
		t.structure(2)
		t.structure(nanoseconds)
		t.end()
		t.end()
	}
	t.end()
	t.end()
}

func (w *Writer) rowGroup(t *thrift, g *group, number int) {
	var packed, unpacked int64
	t.begin()
	t.list(1, kindStruct, len(g.chunks))
	for i := range g.chunks {
		w.columns[i].columnChunk(t, &g.chunks[i])
		packed += g.chunks[i].stored
		unpacked += g.chunks[i].unpacked
	}
	t.long(2, unpacked)
	t.long(3, g.rows)
	t.long(5, g.at)
	t.long(6, packed)
	if number < 1<<15 {
		t.short(7, int64(number))
	}
	t.end()
}

func (c *Column) columnChunk(t *thrift, k *chunk) {
	t.begin()
	t.long(2, 0) // unused: the offset of metadata that is not here
	t.structure(3)
	t.number(1, c.physical())
	encodings := []int64{c.encoding()}
	if c.Encoding == Dict {
		encodings = append(encodings, encodingPlain)
	}
	if c.List || c.Optional {
		encodings = append(encodings, encodingRLE)
	}
	t.list(2, kindInt32, len(encodings))
	for _, e := range encodings {
		t.to = binary.AppendVarint(t.to, e)
	}
	path := c.path()
	t.list(3, kindBinary, len(path))
	for _, name := range path {
		t.bytes([]byte(name))
	}
	t.number(4, codecZstd)
	t.long(5, k.values)
	t.long(6, k.unpacked)
	t.long(7, k.stored)
	t.long(9, k.data)
	if c.Encoding == Dict {
		t.long(11, k.dictionary)
	}
	c.statistics(t, k)
	c.pageCounts(t, k)
	t.end()
	t.end()
}

func (c *Column) statistics(t *thrift, k *chunk) {
	t.structure(12)
	if !c.List {
		t.long(3, k.missing)
	}
	if k.low != nil || k.high != nil {
		t.binary(5, k.high)
		t.binary(6, k.low)
	}
	t.end()
}

// pageCounts tells readers that all data pages use the dictionary.
func (c *Column) pageCounts(t *thrift, k *chunk) {
	rows := [][3]int64{{pageData, c.encoding(), int64(k.dataPages)}}
	if c.Encoding == Dict {
		rows = [][3]int64{{pageDictionary, encodingPlain, 1}, rows[0]}
	}
	t.list(13, kindStruct, len(rows))
	for _, r := range rows {
		t.begin()
		for i, n := range r {
			t.number(i+1, n)
		}
		t.end()
	}
}
