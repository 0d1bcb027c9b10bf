/* Semaphores: a token goes to the task that has waited longest. */
#ifndef MARS_TASK_SEMAPHORE_H
#define MARS_TASK_SEMAPHORE_H

#include <stdint.h>
#include <mars/task_semaphore_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mars_context;

int mars_task_semaphore_create(struct mars_context *mars, uint64_t *semaphore_ea, int32_t count);
int mars_task_semaphore_destroy(uint64_t semaphore_ea);

/* Of tasks. */
int mars_task_semaphore_acquire(uint64_t semaphore_ea);
int mars_task_semaphore_release(uint64_t semaphore_ea);

#ifdef __cplusplus
}
#endif

#endif
