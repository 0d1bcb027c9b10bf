/* A semaphore of one token protects a plain number; one of three lets no more than three in. */
#include "program.h"

enum { TASKS = 100, ROUNDS = 1000 };
static uint64_t number;
static int32_t inside, most;

static int semaphore_main(const struct mars_task_args *args)
{
	int i;

	for (i = 0; i < ROUNDS; i++) {
		OK(mars_task_semaphore_acquire(args->type.u64[0]));
		number++;
		OK(mars_task_semaphore_release(args->type.u64[0]));
	}
	for (i = 0; i < 10; i++) {
		int32_t now;

		OK(mars_task_semaphore_acquire(args->type.u64[1]));
		now = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		if (now > __atomic_load_n(&most, __ATOMIC_SEQ_CST))
			__atomic_store_n(&most, now, __ATOMIC_SEQ_CST);
		OK(mars_task_yield());
		__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
		OK(mars_task_semaphore_release(args->type.u64[1]));
	}
	return 0;
}
static MARS_TASK_IMAGE(program, semaphore_main);

int main(void)
{
	uint64_t one, three;

	OK(mars_context_create(&mars, 0, 0));
	CHECK(mars_task_semaphore_create(mars, &one, 55) == MARS_ERROR_PARAMS);
	OK(mars_task_semaphore_create(mars, &one, 1));
	OK(mars_task_semaphore_create(mars, &three, 3));
	CHECK(mars_task_semaphore_acquire(one) == MARS_ERROR_STATE); /* the host */
	CHECK(mars_task_semaphore_acquire(0) == MARS_ERROR_NULL);
	CHECK(mars_task_semaphore_acquire(one + 16) == MARS_ERROR_ALIGN);
	CHECK(mars_task_barrier_wait(one) == MARS_ERROR_PARAMS); /* it is none */
	finish(start(&program, TASKS, one, three), TASKS, 0);
	CHECK(number == TASKS * ROUNDS);
	CHECK(most > 0 && most <= 3);
	printf("%lu, at most %d inside\n", (unsigned long)number, most);
	OK(mars_task_semaphore_destroy(one));
	OK(mars_task_semaphore_destroy(three));
	return end("semaphore");
}
