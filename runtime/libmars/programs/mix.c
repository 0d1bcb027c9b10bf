/* Run-complete tasks among others: what would have to wait fails, and nobody else is held up. */
#include "program.h"

static uint64_t objects[4];
static uint32_t switched;

static int complete_main(const struct mars_task_args *args)
{
	struct mars_callback_args reply;
	struct mars_task_id own = *mars_task_get_id();
	uint32_t entry[4] __attribute__((aligned(16)));

	(void)args;
	CHECK(mars_task_semaphore_acquire(objects[0]) == MARS_ERROR_FORMAT);
	CHECK(mars_task_barrier_notify(objects[1]) == MARS_ERROR_FORMAT);
	CHECK(mars_task_event_flag_wait(objects[2], 1, MARS_TASK_EVENT_FLAG_MASK_OR, NULL) ==
	      MARS_ERROR_FORMAT);
	CHECK(mars_task_queue_pop(objects[3], entry) == MARS_ERROR_FORMAT);
	CHECK(mars_task_queue_try_pop(objects[3], entry) == MARS_ERROR_BUSY);
	CHECK(mars_task_yield() == MARS_ERROR_FORMAT);
	CHECK(mars_task_signal_wait() == MARS_ERROR_FORMAT);
	CHECK(mars_task_signal_try_wait() == MARS_ERROR_BUSY);
	CHECK(mars_task_wait(&own, NULL) == MARS_ERROR_FORMAT);
	CHECK(mars_task_call_host(8, NULL, &reply) == MARS_ERROR_FORMAT);
	mars_task_exit(6);
}
static MARS_TASK_IMAGE(complete, complete_main);

static int switching_main(const struct mars_task_args *args)
{
	int i;

	(void)args;
	for (i = 0; i < 100; i++)
		OK(mars_task_yield());
	__atomic_add_fetch(&switched, 1, __ATOMIC_SEQ_CST);
	return 0;
}
static MARS_TASK_IMAGE(switching, switching_main);

int main(void)
{
	struct mars_task_id ids[50], *others;
	struct mars_task_args args;
	int32_t code;
	int i;

	memset(&args, 0, sizeof(args));
	OK(mars_context_create(&mars, 0, 0));
	OK(mars_task_semaphore_create(mars, &objects[0], 1));
	OK(mars_task_barrier_create(mars, &objects[1], 1));
	OK(mars_task_event_flag_create(mars, &objects[2], MARS_TASK_EVENT_FLAG_MPU_TO_MPU,
				       MARS_TASK_EVENT_FLAG_CLEAR_AUTO));
	OK(mars_task_queue_create(mars, &objects[3], 16, 1, MARS_TASK_QUEUE_MPU_TO_MPU));
	others = start(&switching, 50, 0, 0);
	CHECK(mars_task_create(mars, &ids[0], "x", &complete, SAVE + 1) == MARS_ERROR_PARAMS);
	CHECK(mars_task_create(mars, &ids[0], "x", "\x7f" "ELF....", SAVE) == MARS_ERROR_FORMAT);
	CHECK(mars_task_create(mars, &ids[0], "a name that is too long", &complete, 0) ==
	      MARS_ERROR_PARAMS);
	for (i = 0; i < 50; i++) {
		OK(mars_task_create(mars, &ids[i], NULL, &complete, 0));
		OK(mars_task_schedule(&ids[i], NULL, 1));
	}
	for (i = 0; i < 50; i++) {
		OK(mars_task_wait(&ids[i], &code));
		CHECK(code == 6);
		OK(mars_task_destroy(&ids[i]));
	}
	finish(others, 50, 0);
	CHECK(switched == 50);
	OK(mars_task_semaphore_destroy(objects[0]));
	OK(mars_task_barrier_destroy(objects[1]));
	OK(mars_task_event_flag_destroy(objects[2]));
	OK(mars_task_queue_destroy(objects[3]));
	return end("mix");
}
