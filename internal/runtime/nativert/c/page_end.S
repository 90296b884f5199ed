/* The part of a section that the linker must put last: it makes the section fill whole pages, over which a file can be mapped,
 * by its alignment also at the start, and marks where that rounding begins. It is a part of the section of the records, or, with
 * CAIRN_ORDER, of that of the order buffer.
 *
 * Linkers that put the code of link-time optimisation behind all other objects are given one with CAIRN_LAST, which is last
 * there, with CAIRN_REVERSED since the order is reversed. They may have taken the one of the archive before. */

#include "machine.h"
#include "wire.h"

#if CAIRN_ORDER
#define SECTION CAIRN_ORDER_SECTION
#define USED __cairn_order_used
#define END __cairn_order_end
#else
#define SECTION CAIRN_RAW_SECTION
#define USED __cairn_raw_used
#define END __cairn_raw_end
#endif
#if CAIRN_LAST
        .globl  USED, END
#else
        .weak   USED, END
#endif
        .hidden USED, END

#if !CAIRN_REVERSED
        .section SECTION, "aw", %nobits, unique, 1
USED:
#endif
        .section SECTION, "aw", %nobits
        .balign PAGE
END:
#if CAIRN_REVERSED
        .section SECTION, "aw", %nobits, unique, 1
USED:
#endif

        PROPERTIES
