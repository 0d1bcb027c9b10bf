/* Queues of entries of one size. */
#ifndef MARS_TASK_QUEUE_H
#define MARS_TASK_QUEUE_H

#include <stdint.h>
#include <mars/task_queue_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mars_context;

int mars_task_queue_create(struct mars_context *mars, uint64_t *queue_ea, uint32_t size,
			   uint32_t depth, uint8_t direction);
int mars_task_queue_destroy(uint64_t queue_ea);

/* Of the host and of tasks, as the direction permits. */
int mars_task_queue_count(uint64_t queue_ea, uint32_t *count);
int mars_task_queue_clear(uint64_t queue_ea);
int mars_task_queue_push(uint64_t queue_ea, const void *data);
int mars_task_queue_try_push(uint64_t queue_ea, const void *data);
int mars_task_queue_pop(uint64_t queue_ea, void *data);
int mars_task_queue_try_pop(uint64_t queue_ea, void *data);
int mars_task_queue_peek(uint64_t queue_ea, void *data);
int mars_task_queue_try_peek(uint64_t queue_ea, void *data);

/* Of tasks: the copy is complete when the call that ends it returns. */
int mars_task_queue_push_begin(uint64_t queue_ea, const void *data, uint32_t tag);
int mars_task_queue_push_end(uint64_t queue_ea, uint32_t tag);
int mars_task_queue_pop_begin(uint64_t queue_ea, void *data, uint32_t tag);
int mars_task_queue_pop_end(uint64_t queue_ea, uint32_t tag);
int mars_task_queue_peek_begin(uint64_t queue_ea, void *data, uint32_t tag);
int mars_task_queue_peek_end(uint64_t queue_ea, uint32_t tag);
int mars_task_queue_try_push_begin(uint64_t queue_ea, const void *data, uint32_t tag);
int mars_task_queue_try_pop_begin(uint64_t queue_ea, void *data, uint32_t tag);
int mars_task_queue_try_peek_begin(uint64_t queue_ea, void *data, uint32_t tag);

#ifdef __cplusplus
}
#endif

#endif
