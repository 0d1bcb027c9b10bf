/* Constants of queues. */
#ifndef MARS_TASK_QUEUE_TYPES_H
#define MARS_TASK_QUEUE_TYPES_H

#define MARS_TASK_QUEUE_HOST_TO_MPU 0x10
#define MARS_TASK_QUEUE_MPU_TO_HOST 0x11
#define MARS_TASK_QUEUE_MPU_TO_MPU 0x12
#define MARS_TASK_QUEUE_WAIT_MAX 18 /* of MARS 1.1.5; here there is no limit */
#define MARS_TASK_QUEUE_ENTRY_SIZE_MAX 16384

struct mars_task_queue;

#endif
