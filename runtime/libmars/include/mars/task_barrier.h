/* Barriers: a task that has arrived may work on before it waits. */
#ifndef MARS_TASK_BARRIER_H
#define MARS_TASK_BARRIER_H

#include <stdint.h>
#include <mars/task_barrier_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mars_context;

int mars_task_barrier_create(struct mars_context *mars, uint64_t *barrier_ea, uint32_t total);
int mars_task_barrier_destroy(uint64_t barrier_ea);

/* Of tasks. */
int mars_task_barrier_notify(uint64_t barrier_ea);
int mars_task_barrier_try_notify(uint64_t barrier_ea);
int mars_task_barrier_wait(uint64_t barrier_ea);
int mars_task_barrier_try_wait(uint64_t barrier_ea);

#ifdef __cplusplus
}
#endif

#endif
