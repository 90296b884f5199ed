package x86

// shape is the set of bytes that follow an opcode.
type shape uint8

const (
	immNone  shape = iota
	imm8           // one byte
	imm16          // two bytes
	imm24          // two and one: enter
	immZ           // four bytes, or two with prefix 66
	immV           // as immZ, or eight with REX.W: mov to a register
	immMoffs       // an address: eight bytes, or four with prefix 67
	rel8           // a branch, one byte
	rel32          // a branch, four bytes
	kindMask shape = 0x0f

	hasModRM  shape = 0x10
	testOnly  shape = 0x20 // only with an immediate for /0 and /1: test of group 3
	registers shape = 0x40 // ModRM always names registers: control and debug registers
	undefined shape = 0x80
)

// letters are the shapes in the tables below. A p marks prefixes and escapes, which are read
// before the table is used.
var letters = [128]shape{
	'.': immNone, 'b': imm8, 'w': imm16, 'e': imm24, 'z': immZ, 'v': immV, 'o': immMoffs,
	'j': rel8, 'J': rel32,
	'M': hasModRM, 'B': hasModRM | imm8, 'Z': hasModRM | immZ,
	'u': hasModRM | testOnly | imm8, 'U': hasModRM | testOnly | immZ,
	'R': hasModRM | registers,
	'-': undefined, 'p': undefined,
}

// table converts 16 rows of 16 letters to a table by opcode.
func table(rows [16]string) (t [256]shape) {
	for i, row := range rows {
		for j := range 16 {
			t[16*i+j] = letters[row[j]]
		}
	}
	return t
}

// oneByte has the opcodes without escape in 64-bit mode (Intel SDM volume 2, table A-2).
var oneByte = table([16]string{
	"MMMMbz--MMMMbz-p",
	"MMMMbz--MMMMbz--",
	"MMMMbzp-MMMMbzp-",
	"MMMMbzp-MMMMbzp-",
	"pppppppppppppppp",
	"................",
	"--pMppppzZbB....",
	"jjjjjjjjjjjjjjjj",
	"BZ-BMMMMMMMMMMMM",
	"..........-.....",
	"oooo....bz......",
	"bbbbbbbbvvvvvvvv",
	"BBw.ppBZe.w..b-.",
	"MMMM---.MMMMMMMM",
	"jjjjbbbbJJ-j....",
	"p.pp..uU......MM",
})

// twoByte has the opcodes after 0F (table A-3). UD0 (FF) is omitted: its length differs
// between manufacturers.
var twoByte = table([16]string{
	"MMMM-.....-.-M.B",
	"MMMMMMMMMMMMMMMM",
	"RRRR----MMMMMMMM",
	"......-.p-p-----",
	"MMMMMMMMMMMMMMMM",
	"MMMMMMMMMMMMMMMM",
	"MMMMMMMMMMMMMMMM",
	"BBBBMMM.MM--MMMM",
	"JJJJJJJJJJJJJJJJ",
	"MMMMMMMMMMMMMMMM",
	"...MBM--...MBMMM",
	"MMMMMMMMMMBMMMMM",
	"MMBMBBBM........",
	"MMMMMMMMMMMMMMMM",
	"MMMMMMMMMMMMMMMM",
	"MMMMMMMMMMMMMMM-",
})

// threeByte38 has the opcodes after 0F 38 (table A-4).
var threeByte38 = table([16]string{
	"MMMMMMMMMMMM----",
	"M---MM-M----MMM-",
	"MMMMMM--MMMM----",
	"MMMMMM-MMMMMMMMM",
	"MM--------------",
	"----------------",
	"----------------",
	"----------------",
	"MMM-------MM----",
	"----------------",
	"----------------",
	"----------------",
	"--------MMMMMM-M",
	"--------M--MMMMM",
	"----------------",
	"MM---MM-MMMMM---",
})

// threeByte3A has the opcodes after 0F 3A (table A-5).
var threeByte3A = table([16]string{
	"--------BBBBBBBB",
	"----BBBB--------",
	"BBB-------------",
	"----------------",
	"BBB-B-----------",
	"----------------",
	"BBBB------------",
	"----------------",
	"----------------",
	"----------------",
	"----------------",
	"----------------",
	"------------B-BB",
	"---------------B",
	"----------------",
	"B---------------",
})

// vectorShape returns what follows an opcode of the VEX and EVEX encodings. Their maps are
// regular: all opcodes of a map have an immediate or none, except in the first map, which
// repeats 0F.
func vectorShape(m Map, op byte, evex bool) shape {
	switch m {
	case Map0F:
		switch op {
		case 0x70, 0x71, 0x72, 0x73, 0xc2, 0xc4, 0xc5, 0xc6:
			return hasModRM | imm8
		case 0x77: // vzeroupper, vzeroall
			if !evex {
				return immNone
			}
		}
		return hasModRM
	case Map0F38:
		return hasModRM
	case Map0F3A:
		return hasModRM | imm8
	case Map5, Map6: // half precision
		if evex {
			return hasModRM
		}
	}
	return undefined
}

// xopShape returns what follows an opcode of AMD's XOP encoding.
func xopShape(m Map) shape {
	switch m {
	case MapXOP8:
		return hasModRM | imm8
	case MapXOP9:
		return hasModRM
	case MapXOPA: // always four bytes: 66 is no prefix here
		return hasModRM | immZ
	}
	return undefined
}
