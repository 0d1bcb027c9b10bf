/* A task that adds one to a number of the host, as one of many: the number is fetched and stored
   back under a semaphore. Its source knows nothing of how it is linked. */
#include <mars/task.h>

int mars_task_main(const struct mars_task_args *task_args)
{
	uint64_t turn = task_args->type.u64[0];
	uint64_t total = task_args->type.u64[1];
	uint32_t number __attribute__((aligned(16)));

	mars_task_semaphore_acquire(turn);
	get(&number, total, sizeof(number));
	number++;
	put(&number, total, sizeof(number));
	mars_task_semaphore_release(turn);
	return 0;
}
