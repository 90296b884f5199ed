/* The data of mapped_MACHINE.S: what its code and the image need, and the constructor and destructor that call it. */

        .reloc  mapped_start, NOTHING, __cairn_raw_end
        .reloc  mapped_start, NOTHING, .Lcairn_calls
        .hidden __start_cairn_raw, __stop_cairn_raw, __cairn_raw_used, __cairn_raw_end, __ehdr_start, __cairn_order_table, __dso_handle
        .weak   __ehdr_start, __cairn_order_table, __dso_handle

/* Table of addresses, relative to this place: see enter in rt_mapped.h. */
        .section .rodata.cairn, "a", %progbits
        .balign 4
table:
        .long   __start_cairn_raw - table
        .long   __stop_cairn_raw - table
        .long   __cairn_order - table
        .long   __cairn_room - table
        .long   __cairn_raw_used - table
#if !__x86_64__
        .long   names - table
        .long   names + WORD - table
        .long   names + 2 * WORD - table
        .long   names + 3 * WORD - table
#elif __has_include(<gnu/libc-version.h>)
        .long   dl_iterate_phdr@GOTPCREL + 20
        .long   __register_atfork@GOTPCREL + 24
        .long   __libc_single_threaded@GOTPCREL + 28
#else
        .long   dl_iterate_phdr@GOTPCREL + 20
        .long   pthread_atfork@GOTPCREL + 24
        .long   pthread_create@GOTPCREL + 28
        .long   environ@GOTPCREL + 32
#endif
        .globl  __cairn_link_with_cairn_cc
        .hidden __cairn_link_with_cairn_cc
__cairn_link_with_cairn_cc:
file:   .asciz  CAIRN_RUNTIME
failure:
        .ascii  CAIRN_MAP_FAILURE

#if !__x86_64__
        .section .data.rel.ro.cairn, "aw", %progbits
        .balign 8
#if __arm__
module: ADDRESS __ehdr_start, __cairn_order_table, __dso_handle
#endif
names:  ADDRESS dl_iterate_phdr
#if __has_include(<gnu/libc-version.h>)
        ADDRESS __register_atfork, __libc_single_threaded
#else
        ADDRESS pthread_atfork, pthread_create, environ
#endif
#endif
        .weak   dl_iterate_phdr
#if __has_include(<gnu/libc-version.h>)
        .weak   __register_atfork, __libc_single_threaded
#else
        .weak   pthread_atfork, pthread_create, environ
#endif

        .bss
        .balign WORD
image:  .skip   WORD
        .globl  __cairn_order
        .hidden __cairn_order
__cairn_order:
        .skip   4

/* See rt_module.h. */
        .section CAIRN_RAW_SECTION, "awG", %nobits, __cairn_room, comdat
        .weak   __cairn_room
        .hidden __cairn_room
__cairn_room:
        .skip   CAIRN_RAW_HEAD_ROOM

/* See rt.c. */
        .section .note.cairn, "a", %note
        .balign 4
        .long   6, 20, 3
        .asciz  "CAIRN"
        .balign 4
.Lcairn_calls:
        .long   mapped_dump - .Lcairn_calls, mapped_reset - .Lcairn_calls, mapped_lost - .Lcairn_calls
        .long   mapped_dir - .Lcairn_calls, mapped_where - .Lcairn_calls

        .section .init_array.00000, "aw"
        .balign WORD
        ADDRESS mapped_start
        .section .fini_array.00000, "aw"
        .balign WORD
        ADDRESS mapped_finish

        PROPERTIES
