// Package asm reads the assembly text that compilers write: which functions, fragments and basic blocks it has,
// where they begin and end, how control flows between them, and where text can be inserted. It changes nothing,
// and uses no files and no processes.
//
// A Unit is one text, with a Function for each symbol that is entered, a Fragment for each piece of its code (that
// of the entry, and those that the compiler moved away as cold), and the blocks of each. Offsets are those of the
// text, so that what uses a unit can copy the text and insert at these offsets.
//
// A text depends on two things. The processor is a Machine: which instructions jump, call and return, and a Reader
// where its assembly has more than instructions. The kind of object file is ELF, COFF, which has directives of its own,
// or MachO, whose syntax is translated to ELF's line by line.
//
// Packages native and split insert and move text; this package knows neither probes nor profiles.
package asm
