/* What a program can tell the simulator that runs it, beside MPI. Everything here does nothing elsewhere:
 * the same program runs on any MPI. */
#ifndef SUNSTAR_H
#define SUNSTAR_H

#ifdef __cplusplus
extern "C" {
#endif

/* Only the simulator's library has it. */
extern void sunstar_compute_seconds(double seconds) __attribute__((weak));

/* Computes for `seconds` of simulated time: the rank's processor is busy for exactly that long, interrupts
 * that come meanwhile apart, whose handler's time is added. Costs no real time. In Fortran: CALL
 * SUNSTAR_COMPUTE(SECONDS), where SECONDS is DOUBLE PRECISION. */
static __inline void sunstar_compute(double seconds)
{
    if (sunstar_compute_seconds)
        sunstar_compute_seconds(seconds);
}

#ifdef __cplusplus
}
#endif

#endif
