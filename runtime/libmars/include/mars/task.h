/* Tasks. */
#ifndef MARS_TASK_H
#define MARS_TASK_H

#include <mars/base.h>
#include <mars/context.h>
#include <mars/error.h>
#include <mars/task_barrier.h>
#include <mars/task_event_flag.h>
#include <mars/task_queue.h>
#include <mars/task_semaphore.h>
#include <mars/task_signal.h>
#include <mars/task_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* elf_image: a struct mars_task_image (mars/task_image.h). context_save_size 0: run-complete. */
int mars_task_create(struct mars_context *mars, struct mars_task_id *id, const char *name,
		     const void *elf_image, uint32_t context_save_size);
int mars_task_destroy(struct mars_task_id *id);

/* Of the host and of tasks. */
int mars_task_schedule(const struct mars_task_id *id, const struct mars_task_args *args,
		       uint8_t priority);
int mars_task_unschedule(const struct mars_task_id *id, int32_t exit_code);
int mars_task_wait(const struct mars_task_id *id, int32_t *exit_code);
int mars_task_try_wait(const struct mars_task_id *id, int32_t *exit_code);
uint32_t mars_task_get_ticks(void);

/* Of tasks. */
int mars_task_main(const struct mars_task_args *args); /* the program's own */
void mars_task_exit(int32_t exit_code) __attribute__((noreturn));
int mars_task_yield(void);
int mars_task_call_host(uint64_t callback_ea, const struct mars_callback_args *in,
			struct mars_callback_args *out);
uint16_t mars_task_get_kernel_id(void);
const struct mars_task_id *mars_task_get_id(void);
const char *mars_task_get_name(void);

#ifdef __cplusplus
}
#endif

#endif
