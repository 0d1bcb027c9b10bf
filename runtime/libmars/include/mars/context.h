/* A context: the threads (MPUs) that run tasks. */
#ifndef MARS_CONTEXT_H
#define MARS_CONTEXT_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mars_context;

/* num_mpus threads run tasks; 0: as many as there are CPUs. shared: the context of the process. */
int mars_context_create(struct mars_context **mars, uint32_t num_mpus, uint8_t shared);
int mars_context_destroy(struct mars_context *mars);
uint32_t mars_context_get_num_mpus(struct mars_context *mars);

#ifdef __cplusplus
}
#endif

#endif
