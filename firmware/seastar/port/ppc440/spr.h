/* Special purpose registers of the PowerPC 440 that boot code touches, by their numbers. */
#ifndef SEASTAR_SPR_H
#define SEASTAR_SPR_H

#define SPR_SRR0 26
#define SPR_SRR1 27
#define SPR_PID 48
#define SPR_CSRR0 58
#define SPR_DEAR 61
#define SPR_ESR 62
#define SPR_IVPR 63
#define SPR_SPRG3 275
#define SPR_DBCR0 308
#define SPR_TSR 336
#define SPR_TCR 340
#define SPR_IVOR0 400
#define SPR_MCSRR0 570
#define SPR_MCSR 572
#define SPR_INV0 880
#define SPR_ITV0 884
#define SPR_CCR1 888
#define SPR_DNV0 912
#define SPR_DTV0 916
#define SPR_DVLIM 920
#define SPR_IVLIM 921
#define SPR_MMUCR 946
#define SPR_CCR0 947

#define MSR_ME 0x1000
#define MSR_IS 0x20
#define MSR_DS 0x10

#endif
