package driver

import (
	"path/filepath"
	"strings"
	"sync"
)

// ld64Values is the number of values of the options of Apple's linker, and of lld in its place (ld64.lld), that have any.
// They follow as arguments. Names of options have one dash, those that lld added two, with an equals sign.
var ld64Values = sync.OnceValue(func() map[string]int {
	values := map[string]int{}
	for n, names := range []string{
		1: `A O Y allowable_client arch bundle_loader cache_path_lto client_name compatibility_version current_version
			dependency_info dirty_data_list dot dtrace dyld_env dylib_compatibility_version dylib_current_version dylib_file
			dylib_install_name dylinker_install_name e exported_symbol exported_symbols_list exported_symbols_order final_output
			force_load framework headerpad image_base init install_name interposable_list ios_simulator_version_min
			ios_version_min iphoneos_version_min lazy_framework lazy_library load_hidden lto_library macos_version_min
			macosx_version_min map max_default_common_align max_relative_cache_size_lto mcpu mllvm needed_framework
			needed_library o objc_abi_version object_path_lto order_file pagezero_size prune_after_lto prune_interval_lto
			read_only_relocs reexport_framework reexport_library reexported_symbols_list rpath seg1addr segalign stack_addr
			stack_size sub_library sub_umbrella syslibroot u umbrella undefined unexported_symbol unexported_symbols_list
			upward_framework upward_library weak_framework weak_library weak_reference_mismatches why_live filelist
			oso_prefix sdk_version commons multiply_defined multiply_defined_unused bitcode_process_mode bitcode_symbol_map
			segs_read_only_addr segs_read_write_addr seg_addr_table seg_addr_table_filename
			alias_list add_ast_path F L U force_symbols_not_weak_list force_symbols_weak_list non_global_symbols_no_strip_list
			non_global_symbols_strip_list sect_diff_relocs segment_order unaligned_pointers bridgeos_version_min
			driverkit_version_min iosmac_version_min maccatalyst_version_min tvos_version_min uikitformac_version_min
			watchos_version_min`,
		2: `alias add_empty_section move_to_ro_segment move_to_rw_segment rename_segment seg_page_size segaddr section_order
			sectobjectsymbols`,
		3: `platform_version sectalign sectcreate segcreate sectorder segprot`,
		4: `rename_section`,
	} {
		for name := range strings.FieldsSeq(names) {
			values[name] = n
		}
	}
	return values
})

// ld64Libraries are the options with the name of a library attached, by what the linker is told of the file: an option
// with its path, "" for the path alone.
var ld64Libraries = map[string]string{"-l": "", "-weak-l": "", "-needed-l": "", "-reexport-l": "", "-upward-l": "", "-lazy-l": "", "-hidden-l": "-load_hidden"}

// ld64Files are the options whose value is an input.
var ld64Files = map[string]string{
	"force_load": "-force_load", "load_hidden": "-load_hidden",
	"weak_library": "", "needed_library": "", "reexport_library": "", "upward_library": "", "lazy_library": "",
}

// ParseLD64 reads the arguments of Apple's linker, or of ld64.lld.
func ParseLD64(args []string, read ReadFunc) LinkerLine {
	p := linkerParser{read: read}
	p.parseLD64(args, 0)
	return LinkerLine{Words: p.words, Apple: true, Err: p.err}
}

func (p *linkerParser) parseLD64(args []string, depth int) {
	if p.seen += len(args); p.seen > maxArgs {
		p.err = ErrLong
		return
	}
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if strings.HasPrefix(arg, "@") && depth < maxResponseDepth {
			if text, err := p.read(arg[1:]); err == nil {
				p.parseLD64(SplitResponse(text), depth+1)
				continue
			}
		}
		if len(arg) < 2 || arg[0] != '-' {
			p.words = append(p.words, LinkerWord{Args: args[i : i+1], Value: arg, Lazy: p.lazy})
			continue
		}
		n := min(ld64Values()[arg[1:]], len(args)-1-i)
		p.optionLD64(args[i : i+1+n])
		i += n
	}
}

// optionLD64 adds an option with its values.
func (p *linkerParser) optionLD64(args []string) {
	name, value, _ := strings.Cut(strings.TrimPrefix(args[0][1:], "-"), "=")
	w := LinkerWord{Args: args, Option: name, Value: value}
	if len(args) > 1 {
		w.Value = args[1]
	}
	how, file := ld64Files[name]
	switch {
	case name == "start-lib", name == "end-lib":
		p.lazy = name == "start-lib"
	case name == "filelist":
		paths := FileList(w.Value, p.read)
		for i := range paths {
			p.words = append(p.words, LinkerWord{Args: paths[i : i+1], Value: paths[i], Lazy: p.lazy})
		}
		if len(paths) > 0 {
			return
		}
	case len(args) > 1 && (name == "framework" || strings.HasSuffix(name, "_framework")):
		base, _, _ := strings.Cut(w.Value, ",")
		w = LinkerWord{Args: args, Value: w.Value, Lib: true, Names: []string{filepath.Join(base+".framework", base)}}
	case len(args) > 1 && file:
		w = LinkerWord{Args: args, Value: w.Value, Load: how}
	case len(args) == 1 && (strings.HasPrefix(args[0], "-L") || strings.HasPrefix(args[0], "-F")) && len(args[0]) > 2:
		w.Option, w.Value = args[0][1:2], args[0][2:]
	case len(args) == 1:
		if lib, how := ld64Library(args[0]); lib != "" {
			w = LinkerWord{Args: args, Value: lib, Lib: true, Load: how, Names: []string{"lib" + lib + ".tbd", "lib" + lib + ".dylib", "lib" + lib + ".a"}}
			if strings.HasSuffix(lib, ".o") {
				w.Names = []string{lib}
			}
		}
	}
	p.words = append(p.words, w)
}

// ld64Library returns the library that an option names, "" for other options, and what its file is told to the linker by.
func ld64Library(arg string) (lib, load string) {
	for prefix, load := range ld64Libraries {
		if lib, ok := strings.CutPrefix(arg, prefix); ok && lib != "" && !strings.HasPrefix(arg, "-lto_") {
			return lib, load
		}
	}
	return "", ""
}

// FileList returns the inputs that the value of -filelist names: a file with a path a line, and maybe their directory behind
// a comma.
func FileList(value string, read ReadFunc) []string {
	name, dir := value, ""
	if i := strings.LastIndexByte(value, ','); i >= 0 {
		name, dir = value[:i], value[i+1:]
	}
	text, err := read(name)
	if err != nil {
		return nil // the linker says so
	}
	var paths []string
	for path := range strings.Lines(text) {
		if path = strings.TrimRight(path, "\r\n"); path != "" {
			paths = append(paths, filepath.Join(dir, path))
		}
	}
	return paths
}

// appleDirs returns the directories of -L and -F: those with an absolute path may be below that of -syslibroot.
func (l *LinkerLine) appleDirs() []string {
	root := l.Value("syslibroot")
	var dirs []string
	for i := range l.Words {
		w := &l.Words[i]
		if w.Option != "L" && w.Option != "F" {
			continue
		}
		if root != "" && filepath.IsAbs(w.Value) {
			dirs = append(dirs, filepath.Join(root, w.Value))
		}
		dirs = append(dirs, w.Value)
	}
	return dirs
}
