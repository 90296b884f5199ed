package verb

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// SizeFlag is a number of bytes on the command line.
type SizeFlag int64

// units of sizes, of 1024 of the one before.
var sizeUnits = []string{"B", "KB", "MB", "GB", "TB"}

// Set parses a size such as 64MB or 2GB.
func (v *SizeFlag) Set(text string) error {
	digits := strings.TrimRight(text, "KMGTBkmgtb")
	unit := -1
	for i, u := range sizeUnits {
		if strings.EqualFold(text[len(digits):], u) {
			unit = i
		}
	}
	n, err := strconv.ParseUint(digits, 10, 63)
	if err != nil || unit < 0 || n == 0 || bits.Len64(n)+10*unit > 62 {
		return fmt.Errorf("%q is not a size such as 64MB or 2GB", text)
	}
	*v = SizeFlag(n << (10 * unit))
	return nil
}

// Type names the type in help texts.
func (*SizeFlag) Type() string { return "size" }

// String returns the size in the form that Set parses.
func (v *SizeFlag) String() string {
	n, unit := int64(*v), 0
	for n != 0 && n%1024 == 0 && unit+1 < len(sizeUnits) {
		n, unit = n/1024, unit+1
	}
	return strconv.FormatInt(n, 10) + sizeUnits[unit]
}
