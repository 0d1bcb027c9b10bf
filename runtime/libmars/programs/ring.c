/* A token goes round: task i waits for bit i of an event flag and sets the next one. */
#include "program.h"

enum { TASKS = 8, HOPS = 100000 };

static int ring_main(const struct mars_task_args *args)
{
	uint64_t flag = args->type.u64[0], place = args->type.u64[2];
	int i;

	for (i = 0; i < HOPS / TASKS; i++) {
		OK(mars_task_event_flag_wait(flag, 1u << place, MARS_TASK_EVENT_FLAG_MASK_AND, NULL));
		OK(mars_task_event_flag_set(flag, 1u << (place + 1) % TASKS));
	}
	return 0;
}
static MARS_TASK_IMAGE(program, ring_main);

static int first_main(const struct mars_task_args *args)
{
	return mars_task_event_flag_set(args->type.u64[0], 1);
}
static MARS_TASK_IMAGE(first, first_main);

int main(void)
{
	struct mars_task_id *ids;
	uint64_t flag;
	double begin;

	OK(mars_context_create(&mars, 0, 0));
	OK(mars_task_event_flag_create(mars, &flag, MARS_TASK_EVENT_FLAG_MPU_TO_MPU,
				       MARS_TASK_EVENT_FLAG_CLEAR_AUTO));
	CHECK(mars_task_event_flag_set(flag, 1) == MARS_ERROR_STATE); /* the host */
	ids = start(&program, TASKS, flag, 0);
	begin = seconds();
	finish(start(&first, 1, flag, 0), 1, 0);
	finish(ids, TASKS, 0);
	printf("%.0f ns a hop\n", (seconds() - begin) * 1e9 / HOPS);
	OK(mars_task_event_flag_destroy(flag));
	return end("ring");
}
