/* How much an MPU was used: an addition to MARS 1.1.5. */
#ifndef MARS_UTILISATION_H
#define MARS_UTILISATION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mars_context;

/* Stores the share of time since its start in which MPU number mpu did not sleep, 0 to 1. */
int mars_context_utilisation(struct mars_context *mars, uint32_t mpu, double *share);

#ifdef __cplusplus
}
#endif

#endif
