/* The boot page. */
#include "abi_offload.h"

OUTPUT_FORMAT("elf32-powerpc")
OUTPUT_ARCH(powerpc)
ENTRY(reset_vector)
SECTIONS {
    . = OF_ROM_BASE;
    .shim : { KEEP(*(.shim)) }
    /DISCARD/ : { *(.note.GNU-stack .gnu.attributes) }
}
