/* Sizes, offsets and values of the headers are those of MARS 1.1.5. */
#include <stddef.h>
#include <libspe2.h>
#include <mars/task.h>
#include <mars/mutex.h>
#include <mars/module.h>
#include <mars/task_image.h>
#include "check.h"

int main(void)
{
	CHECK(sizeof(struct mars_task_id) == 32);
	CHECK(offsetof(struct mars_task_id, workload_id) == 8);
	CHECK(offsetof(struct mars_task_id, name) == 10);
	CHECK(sizeof(struct mars_task_args) == 32);
	CHECK(sizeof(struct mars_callback_args) == MARS_CALLBACK_ARGS_SIZE);
	CHECK(__alignof__(struct mars_callback_args) == MARS_CALLBACK_ARGS_ALIGN);
	CHECK(sizeof(struct mars_mutex_status) == 4);
	CHECK(sizeof(struct mars_mutex) == MARS_MUTEX_SIZE);
	CHECK(__alignof__(struct mars_mutex) == MARS_MUTEX_ALIGN);
	CHECK(MARS_SUCCESS == 0 && MARS_ERROR_NULL == 1 && MARS_ERROR_PARAMS == 2);
	CHECK(MARS_ERROR_INTERNAL == 3 && MARS_ERROR_MEMORY == 4 && MARS_ERROR_ALIGN == 5);
	CHECK(MARS_ERROR_LIMIT == 6 && MARS_ERROR_STATE == 7 && MARS_ERROR_FORMAT == 8);
	CHECK(MARS_ERROR_BUSY == 9);
	CHECK(MARS_TASK_QUEUE_MPU_TO_MPU == 0x12 && MARS_TASK_EVENT_FLAG_MASK_AND == 0x31);
	CHECK(MARS_TASK_CONTEXT_SAVE_SIZE_MAX == 0x3c000 && MARS_TASK_NAME_LEN_MAX == 21);
	return verdict("layouts");
}
