/* Event flags: 32 bits that some set and others wait for. */
#ifndef MARS_TASK_EVENT_FLAG_H
#define MARS_TASK_EVENT_FLAG_H

#include <stdint.h>
#include <mars/task_event_flag_types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct mars_context;

int mars_task_event_flag_create(struct mars_context *mars, uint64_t *event_flag_ea,
				uint8_t direction, uint8_t clear_mode);
int mars_task_event_flag_destroy(uint64_t event_flag_ea);

/* Of the host and of tasks, as the direction permits. */
int mars_task_event_flag_clear(uint64_t event_flag_ea, uint32_t bits);
int mars_task_event_flag_set(uint64_t event_flag_ea, uint32_t bits);
int mars_task_event_flag_wait(uint64_t event_flag_ea, uint32_t mask, uint8_t mask_mode,
			      uint32_t *bits);
int mars_task_event_flag_try_wait(uint64_t event_flag_ea, uint32_t mask, uint8_t mask_mode,
				  uint32_t *bits);

#ifdef __cplusplus
}
#endif

#endif
