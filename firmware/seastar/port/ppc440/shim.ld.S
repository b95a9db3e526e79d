/* The shim's page. */
#include "abi_seastar.h"

OUTPUT_FORMAT("elf32-powerpc")
OUTPUT_ARCH(powerpc)
ENTRY(reset_vector)
SECTIONS {
    . = SS_SHIM_BASE;
    .shim : { KEEP(*(.shim)) }
    /DISCARD/ : { *(.note.GNU-stack .gnu.attributes) }
}
