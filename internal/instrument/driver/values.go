package driver

import (
	"strings"
	"sync"
)

// separate has the options whose value is the next argument. -filelist is not one of them: its value names inputs.
var separate = setOf(`
	-o -I -D -U -L -l -T -u -z -e -x -B -F -A -h -J -wrapper -specs -aux-info --param -dumpbase -dumpdir -dumpbase-ext
	-include -imacros -isystem -iquote -idirafter -iprefix -iwithprefix -iwithprefixbefore -isysroot -imultilib -MF -MT -MQ
	-Xassembler -Xpreprocessor -Xlinker -target -arch --sysroot -gcc-toolchain` +
	// Of clang, Apple's included.
	` -Xclang -mllvm -cxx-isystem -isystem-after -iwithsysroot -iframework -iframeworkwithsysroot -include-pch -ivfsoverlay
	-vfsoverlay -ivfsstatcache -iapinotes-modules -MJ -resource-dir -working-directory -serialize-diagnostics
	--serialize-diagnostics -index-store-path -index-unit-output-path -module-dependency-dir -dependency-file -dependency-dot
	-dsym-dir -gen-cdb-fragment-path -fmodules-user-build-path -Xanalyzer -Xarch_arm64 -Xarch_x86_64 -Xarch_host
	-darwin-target-variant -darwin-target-variant-triple` +
	// Of drivers for Apple's linker.
	` -install_name -framework -weak_framework -lazy_framework -reexport_framework -weak_library -lazy_library
	-reexport_library -force_load -rpath -exported_symbols_list -unexported_symbols_list -bundle_loader -umbrella -sub_umbrella
	-sub_library -init -undefined -compatibility_version -current_version -dylib_file -image_base -seg1addr -seg_addr_table
	-client_name -allowable_client -multiply_defined -read_only_relocs -weak_reference_mismatches -pagezero_size
	-dylinker_install_name`)

// several has the options with more than one value, and their numbers.
var several = map[string]int{
	"-sectcreate": 3, "-sectorder": 3, "-sectalign": 3, "-segprot": 3, "-segcreate": 3, "-segaddr": 2, "-sectobjectsymbols": 2,
}

// setOf returns a function that returns a set of words, which it makes at its first call: most commands need none.
func setOf(words string) func() map[string]bool {
	return sync.OnceValue(func() map[string]bool {
		set := map[string]bool{}
		for word := range strings.FieldsSeq(words) {
			set[word] = true
		}
		return set
	})
}
