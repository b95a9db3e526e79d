# Calls kernels(r3) on the stack that the test gives, then ends with an illegal word.
        .section .start, "ax"
        .global _start
_start: bl      kernels
        .long   0
