package objfile

import "slices"

// fsSymbol is defined by clang -mllvm -enable-fs-discriminator.
const fsSymbol = "__llvm_fs_discriminator__"

// FSDiscriminators reports whether discriminators are flow-sensitive: all of their bits
// distinguish copies of code, and they are not divided into fields.
func (p *Program) FSDiscriminators() bool {
	return slices.ContainsFunc(p.Symbols, func(s TableSymbol) bool { return s.Name == fsSymbol })
}
