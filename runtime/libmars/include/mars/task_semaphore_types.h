/* Constants of semaphores. */
#ifndef MARS_TASK_SEMAPHORE_TYPES_H
#define MARS_TASK_SEMAPHORE_TYPES_H

#define MARS_TASK_SEMAPHORE_WAIT_MAX 54 /* tokens at most; any number of tasks may wait */

struct mars_task_semaphore;

#endif
