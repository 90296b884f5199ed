package objfile

import "slices"

// fsSymbol is what clang -mllvm -enable-fs-discriminator leaves in a program.
const fsSymbol = "__llvm_fs_discriminator__"

// FSDiscriminators reports whether discriminators are flow-sensitive: all of their bits
// tell copies of code apart, and they have no parts.
func (p *Program) FSDiscriminators() bool {
	return slices.ContainsFunc(p.Symbols, func(s TableSymbol) bool { return s.Name == fsSymbol })
}
