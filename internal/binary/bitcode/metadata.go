package bitcode

import (
	"cmp"
	"path"
)

// Metadata has the debug information of a module: strings, files, functions and the blocks in them, as nodes that
// refer to each other by number.

// metadata reads a block of metadata, whose nodes follow those that are known.
func (c *codeReader) metadata(width uint) {
	c.blocks(width, c.info[metadataBlock], func(uint64, uint) {}, func(code uint64, ops []uint64, text []byte) {
		at := func(i int) int {
			if i < len(ops) && ops[i] <= maxValues {
				return int(ops[i])
			}
			return 0
		}
		n := node{kind: code}
		switch code {
		case metaStrings:
			c.metaStrings(ops, text)
			return
		case metaName, metaKind, metaNamed, metaAttachment, metaGlobals, metaOffset, metaIndex:
			return
		case metaFile:
			n.name, n.dir = at(1), at(2)
		case metaFunction:
			n.name, n.file, n.line = cmp.Or(at(3), at(2)), at(4), at(5)
		case metaBlock, metaBlockFile:
			n.scope, n.file = at(1), at(2)
		default:
			n.kind = 0
		}
		c.add(n)
	})
}

func (c *codeReader) add(n node) {
	if c.nodes = append(c.nodes, n); len(c.nodes) > maxValues {
		c.failf("more than %d nodes of metadata", maxValues)
	}
}

// metaStrings reads strings of metadata: their lengths are a stream of its own, before their text.
func (c *codeReader) metaStrings(ops []uint64, text []byte) {
	if len(ops) < 2 || ops[0] > maxValues || ops[1] > uint64(len(text)) {
		c.failf("strings of metadata outside of their record")
		return
	}
	lengths, rest := reader{data: text[:ops[1]]}, text[ops[1]:]
	for range ops[0] {
		n := lengths.vbr(6)
		if lengths.err != nil || n > uint64(len(rest)) {
			c.failf("a string of metadata of %d bytes, longer than its record", n)
			return
		}
		c.add(node{kind: metaStrings, text: string(rest[:min(n, maxSymbolLength)])})
		rest = rest[n:]
	}
}

// node returns the node with a number, from 1 on.
func (c *codeReader) node(number uint64) node {
	if number == 0 || number > uint64(len(c.nodes)) {
		return node{}
	}
	return c.nodes[number-1]
}

// scopeFile returns the path of the file of a scope.
func (c *codeReader) scopeFile(scope uint64) string {
	for range maxScopes {
		n := c.node(scope)
		switch {
		case n.kind == metaFunction || n.kind == metaBlockFile || n.kind == metaBlock && n.file > 0:
			return c.file(n.file)
		case n.kind == metaBlock:
			scope = uint64(n.scope)
		default:
			return ""
		}
	}
	return ""
}

// file returns the path of a file.
func (c *codeReader) file(number int) string {
	if name, ok := c.files[number]; ok {
		return name
	}
	n := c.node(uint64(number))
	name, dir := c.node(uint64(n.name)).text, c.node(uint64(n.dir)).text
	if n.kind != metaFile || name == "" {
		return ""
	}
	if !path.IsAbs(name) {
		name = path.Join(dir, name)
	}
	c.files[number] = path.Clean(name)
	return c.files[number]
}
