/* A task waits for an event flag of the host, sets one for the host, and ends. */
#include <string.h>
#include <mars/task.h>
#include <mars/task_image.h>
#include "check.h"

static int waits_main(const struct mars_task_args *args)
{
	uint32_t bits = 0;

	if (strcmp(mars_task_get_name(), "waits") || mars_task_get_id()->mars_context_ea == 0)
		return -1;
	if (mars_task_event_flag_wait(args->type.u64[0], 6, MARS_TASK_EVENT_FLAG_MASK_AND, &bits))
		return -2;
	if (mars_task_event_flag_set(args->type.u64[1], bits))
		return -3;
	mars_task_exit((int32_t)bits);
}
static MARS_TASK_IMAGE(waits, waits_main);

int main(void)
{
	struct mars_context *mars;
	struct mars_task_args args;
	struct mars_task_id id;
	uint64_t to_task, to_host;
	uint32_t bits = 0;
	int32_t code = 0;

	OK(mars_context_create(&mars, 1, 0));
	OK(mars_task_event_flag_create(mars, &to_task, MARS_TASK_EVENT_FLAG_HOST_TO_MPU,
				       MARS_TASK_EVENT_FLAG_CLEAR_AUTO));
	OK(mars_task_event_flag_create(mars, &to_host, MARS_TASK_EVENT_FLAG_MPU_TO_HOST,
				       MARS_TASK_EVENT_FLAG_CLEAR_MANUAL));
	args.type.u64[0] = to_task;
	args.type.u64[1] = to_host;
	OK(mars_task_create(mars, &id, "waits", &waits, MARS_TASK_CONTEXT_SAVE_SIZE_MAX));
	OK(mars_task_schedule(&id, &args, 7));
	CHECK(mars_task_try_wait(&id, &code) == MARS_ERROR_BUSY);
	CHECK(mars_task_schedule(&id, &args, 7) == MARS_ERROR_STATE);
	CHECK(mars_task_destroy(&id) == MARS_ERROR_STATE);
	OK(mars_task_event_flag_set(to_task, 2));
	CHECK(mars_task_try_wait(&id, &code) == MARS_ERROR_BUSY);
	OK(mars_task_event_flag_set(to_task, 12));
	OK(mars_task_event_flag_wait(to_host, 4, MARS_TASK_EVENT_FLAG_MASK_OR, &bits));
	CHECK(bits == 14);
	OK(mars_task_wait(&id, &code));
	CHECK(code == 14);
	OK(mars_task_destroy(&id));
	CHECK(mars_task_wait(&id, &code) == MARS_ERROR_PARAMS);
	OK(mars_task_event_flag_destroy(to_task));
	OK(mars_task_event_flag_destroy(to_host));
	OK(mars_context_destroy(mars));
	return verdict("waits");
}
