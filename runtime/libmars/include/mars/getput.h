/* Copies that are complete when they return; a task whose copy fails exits. */
#ifndef MARS_GETPUT_H
#define MARS_GETPUT_H

#include <mars/error.h>
#include <mars/module.h>
#include <mars/task.h>

static inline void mars_getput_end(int result)
{
	if (result == MARS_SUCCESS)
		result = mars_module_dma_wait(31);
	if (result != MARS_SUCCESS)
		mars_task_exit(-result);
}

/* Copies size bytes at ea to ls. */
static inline void get(void *ls, uint64_t ea, uint32_t size)
{
	mars_getput_end(mars_module_dma_get(ls, ea, size, 31));
}

/* Copies size bytes at ls to ea. */
static inline void put(const void *ls, uint64_t ea, uint32_t size)
{
	mars_getput_end(mars_module_dma_put(ls, ea, size, 31));
}

#endif
