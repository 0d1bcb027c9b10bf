/* Tasks that are ready, wait, or run are unscheduled; they do not go on. */
#include "program.h"

static int is_running, may_stop, went_on;

static void set(int *flag, int value)
{
	__atomic_store_n(flag, value, __ATOMIC_SEQ_CST);
}

static int is_set(const int *flag)
{
	return __atomic_load_n(flag, __ATOMIC_SEQ_CST);
}

static int waits_main(const struct mars_task_args *args)
{
	set(&is_running, 1);
	mars_task_semaphore_acquire(args->type.u64[0]);
	set(&went_on, 1);
	return 0;
}
static MARS_TASK_IMAGE(waits, waits_main);

static int runs_main(const struct mars_task_args *args)
{
	(void)args;
	set(&is_running, 1);
	while (!is_set(&may_stop))
		;
	mars_task_yield();
	set(&went_on, 1);
	return 0;
}
static MARS_TASK_IMAGE(runs, runs_main);

static void expect(struct mars_task_id *id, int32_t code)
{
	int32_t seen = 0;

	OK(mars_task_unschedule(id, code));
	set(&may_stop, 1);
	OK(mars_task_wait(id, &seen));
	CHECK(seen == code);
	CHECK(mars_task_unschedule(id, 1) == MARS_ERROR_STATE);
	CHECK(!is_set(&went_on));
}

int main(void)
{
	struct mars_task_id *waiting, *running, *ready;
	struct mars_task_args args;
	uint64_t semaphore;
	int i;

	memset(&args, 0, sizeof(args));
	OK(mars_context_create(&mars, 1, 0));
	OK(mars_task_semaphore_create(mars, &semaphore, 0));
	waiting = start(&waits, 1, semaphore, 0);
	for (i = 0; i < 1000; i++) {
		while (!is_set(&is_running))
			;
		CHECK(i % 2 == 0 || mars_task_try_wait(waiting, NULL) == MARS_ERROR_BUSY);
		expect(waiting, -i);
		set(&is_running, 0);
		args.type.u64[0] = semaphore;
		OK(mars_task_schedule(waiting, &args, 0));
	}
	expect(waiting, 5);
	OK(mars_task_semaphore_destroy(semaphore)); /* nobody waits for it any more */
	set(&is_running, 0);
	set(&may_stop, 0);
	running = start(&runs, 1, 0, 0);
	while (!is_set(&is_running))
		;
	ready = start(&runs, 1, 0, 0); /* the MPU is busy */
	OK(mars_task_unschedule(ready, 3));
	expect(running, 4);
	finish(ready, 1, 3);
	finish(running, 1, 4);
	finish(waiting, 1, 5);
	return end("unschedule");
}
