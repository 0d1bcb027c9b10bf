/* Memory, by pointers and by addresses. */
#ifndef MARS_BASE_H
#define MARS_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <alloca.h>
#include <malloc.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of the host. */
void *mars_malloc(size_t size);
void *mars_realloc(void *ptr, size_t size);
void mars_free(void *ptr);

/* Memory that the host and tasks use, by its address (ea); 0: there is none. It is not zeroed. */
uint64_t mars_ea_memalign(size_t boundary, size_t size);
void mars_ea_free(uint64_t ea);

/* Copies. Only values of 32 bits are read and written atomically. */
void mars_ea_get(uint64_t ea, void *ptr, size_t size);
void mars_ea_put(uint64_t ea, const void *ptr, size_t size);
uint8_t mars_ea_get_uint8(uint64_t ea);
void mars_ea_put_uint8(uint64_t ea, uint8_t value);
uint16_t mars_ea_get_uint16(uint64_t ea);
void mars_ea_put_uint16(uint64_t ea, uint16_t value);
uint32_t mars_ea_get_uint32(uint64_t ea);
void mars_ea_put_uint32(uint64_t ea, uint32_t value);
uint64_t mars_ea_get_uint64(uint64_t ea);
void mars_ea_put_uint64(uint64_t ea, uint64_t value);

uint64_t mars_ea_map(void *ptr, size_t size);
void mars_ea_unmap(uint64_t ea, size_t size);
void mars_ea_sync(void);

/* CLOCK_MONOTONIC in steps of 16 ns; it wraps after 68 s. */
uint32_t mars_get_ticks(void);

static inline void *mars_ea_to_ptr(uint64_t ea)
{
	return (void *)(uintptr_t)ea;
}

static inline uint64_t mars_ptr_to_ea(const void *ptr)
{
	return (uint64_t)(uintptr_t)ptr;
}

#define mars_alloca_align(boundary, size) \
	((void *)(((uintptr_t)alloca((size_t)(size) + (size_t)(boundary)) + \
		   (uintptr_t)(boundary) - 1) & ~((uintptr_t)(boundary) - 1)))

#ifdef __cplusplus
}
#endif

#endif
