/* Four times as many tasks as MPUs meet at a barrier, 100 times: those that wait make room. */
#include "program.h"

enum { CYCLES = 100 };
static uint32_t sums[1024];

static int barrier_main(const struct mars_task_args *args)
{
	uint64_t barrier = args->type.u64[0];
	uint32_t *sum = &sums[args->type.u64[2]];
	uint32_t cycle;

	for (cycle = 0; cycle < CYCLES; cycle++) {
		OK(mars_task_barrier_notify(barrier));
		*sum += cycle;
		OK(mars_task_barrier_wait(barrier));
	}
	return 0;
}
static MARS_TASK_IMAGE(program, barrier_main);

int main(void)
{
	uint64_t barrier;
	int i, tasks;

	OK(mars_context_create(&mars, 0, 0));
	tasks = 4 * (int)mars_context_get_num_mpus(mars);
	if (tasks < 30)
		tasks = 30; /* more than MARS permits */
	CHECK(mars_task_barrier_create(mars, &barrier, 0) == MARS_ERROR_PARAMS);
	OK(mars_task_barrier_create(mars, &barrier, (uint32_t)tasks));
	finish(start(&program, tasks, barrier, 0), tasks, 0);
	for (i = 0; i < tasks; i++)
		CHECK(sums[i] == CYCLES * (CYCLES - 1) / 2);
	OK(mars_task_barrier_destroy(barrier));
	return end("barrier");
}
