/* The processor took an exception: a fault of the firmware. */
#include "panic.h"

/* Where it was, for whoever looks at the image's symbols. */
struct exception_record {
    uint32_t vector; /* 0x100 + 16 * IVOR number. */
    uint32_t pc;     /* Instruction, or the next one. */
    uint32_t esr;    /* Syndrome. */
    uint32_t dear;   /* Data address. */
    uint32_t lr;     /* Link register. */
    uint32_t sp;     /* Stack pointer. */
};
volatile struct exception_record exception_record;

void exception_panic(uint32_t vector, uint32_t pc, uint32_t esr, uint32_t dear, uint32_t lr,
                     uint32_t sp) __attribute__((noreturn, used));

void exception_panic(uint32_t vector, uint32_t pc, uint32_t esr, uint32_t dear, uint32_t lr,
                     uint32_t sp)
{
    exception_record.vector = vector;
    exception_record.pc = pc;
    exception_record.esr = esr;
    exception_record.dear = dear;
    exception_record.lr = lr;
    exception_record.sp = sp;
    panic(OF_PANIC_REASON_EXCEPTION, vector);
}
