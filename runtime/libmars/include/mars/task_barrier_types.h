/* Constants of barriers. */
#ifndef MARS_TASK_BARRIER_TYPES_H
#define MARS_TASK_BARRIER_TYPES_H

#define MARS_TASK_BARRIER_WAIT_MAX 25 /* of MARS 1.1.5; here there is no limit */

struct mars_task_barrier;

#endif
