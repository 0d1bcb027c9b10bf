/* Signals: one bit for each task. */
#ifndef MARS_TASK_SIGNAL_H
#define MARS_TASK_SIGNAL_H

#include <mars/task_types.h>

#ifdef __cplusplus
extern "C" {
#endif

int mars_task_signal_send(struct mars_task_id *id);

/* Of tasks. */
int mars_task_signal_wait(void);
int mars_task_signal_try_wait(void);

#ifdef __cplusplus
}
#endif

#endif
