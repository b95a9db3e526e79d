/* One trace record (pedretti2005 s3.3): 8 bytes, time base first, then value and program
 * counter. r13 holds the ring index as a byte offset for as long as the firmware runs; nobody
 * else touches it. Uses r0, r3, r4 and reads the link register, as port_trace() in port.h
 * promises. Empty when tracing is compiled out. */
#include "abi_seastar.h"

#if OPT_TRACE
        .section .text
        .global trace_record
        .type   trace_record, @function
trace_record:
        mflr    %r4
        rlwimi  %r4, %r3, 24, 0, 7              /* value << 24 | pc & 0xFFFFFF */
        mfspr   %r0, 268                        /* lower time base */
        lis     %r3, SS_TRACE_BASE@ha
        addi    %r3, %r3, SS_TRACE_BASE@l
        stwux   %r0, %r3, %r13
        stw     %r4, 4(%r3)
        addi    %r13, %r13, 8
        rlwinm  %r13, %r13, 0, (SS_TRACE_COUNT * 8 - 1)
        blr
        .size   trace_record, . - trace_record
#endif
        .section .note.GNU-stack,"",@progbits
