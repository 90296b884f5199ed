/* The header of a raw file, as package mip documents it. */

struct header {
  char magic[8];
  u16 version, flags;
  u32 data_offset;
  u64 size, stored;
  u32 checksum, pid;
  u8 id_len, scenario_len;
  u8 shared, pad; /* ignored by readers without CAIRN_RAW_OWN: a child has no file of its own and counts here */
  u8 id[CAIRN_MAX_BUILD_ID];
  u32 slots, next;
  u64 next_at, run;
};
_Static_assert(sizeof(struct header) == CAIRN_RAW_HEADER_SIZE, "layout");
_Static_assert(__builtin_offsetof(struct header, flags) == CAIRN_RAW_FLAGS_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, size) == CAIRN_RAW_SIZE_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, checksum) == CAIRN_RAW_CHECKSUM_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, pid) == CAIRN_RAW_PID_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, id_len) == CAIRN_RAW_ID_LEN_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, scenario_len) == CAIRN_RAW_SCENARIO_LEN_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, id) == CAIRN_RAW_ID_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, slots) == CAIRN_RAW_SLOTS_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, next_at) == CAIRN_RAW_NEXT_AT_OFFSET, "layout");
_Static_assert(__builtin_offsetof(struct header, run) == CAIRN_RAW_RUN_OFFSET, "layout");
