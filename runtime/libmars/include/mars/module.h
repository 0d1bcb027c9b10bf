/* Copies with tags. Modules themselves are not part of this library. */
#ifndef MARS_MODULE_H
#define MARS_MODULE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Copies between memory (ea) and what a task has at hand (ls); both aligned to 16 bytes.
   tag: 0 to 31. A copy is complete when mars_module_dma_wait has returned for its tag. */
int mars_module_dma_get(void *ls, uint64_t ea, uint32_t size, uint32_t tag);
int mars_module_dma_put(const void *ls, uint64_t ea, uint32_t size, uint32_t tag);
int mars_module_dma_wait(uint32_t tag);

uint32_t mars_module_get_ticks(void);
uint16_t mars_module_get_kernel_id(void);

#ifdef __cplusplus
}
#endif

#endif
