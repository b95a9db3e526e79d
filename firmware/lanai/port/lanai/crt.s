! Start-up: address 0, where the processor begins. The linker defines the stack's top, which is the end of the
! control program's region (vorakosit2001 s3: the base stack pointer has to be moved there).
	.text
	.globl	_start
_start:
	mov	hi(__stack_top), %sp
	or	%sp, lo(__stack_top), %sp
	add	%sp, 0x0, %fp
! A call: the return address is pushed, and the frame stands at a multiple of 8 with it.
	add	%pc, 0x10, %rca
	st	%rca, [--%sp]
	bt	start_c
	nop
stop:
	bt	stop
	nop
