/* A task calls a slow function of the host; another one goes on meanwhile, on the only MPU. */
#include "program.h"

enum { CALLS = 20 };
static volatile int is_calling = 1;
static uint64_t turns;

static int slow(const struct mars_callback_args *in, struct mars_callback_args *out)
{
	struct timespec pause = { 0, 1000000 };

	CHECK(mars_task_get_id() == NULL); /* the host */
	nanosleep(&pause, NULL);
	out->type.u64[5] = in->type.u64[0] + 1;
	return 7;
}

static int calls_main(const struct mars_task_args *args)
{
	struct mars_callback_args in, out;
	uint64_t before = turns;
	int i;

	memset(&in, 0, sizeof(in));
	for (i = 0; i < CALLS; i++) {
		in.type.u64[0] = (uint64_t)i;
		CHECK(mars_task_call_host(args->type.u64[0], &in, &out) == 7);
		CHECK(out.type.u64[5] == (uint64_t)i + 1);
	}
	is_calling = 0;
	return turns - before > 1000 ? 0 : 1;
}
static MARS_TASK_IMAGE(calls, calls_main);

static int other_main(const struct mars_task_args *args)
{
	(void)args;
	while (is_calling) {
		turns++;
		OK(mars_task_yield());
	}
	return 0;
}
static MARS_TASK_IMAGE(other, other_main);

int main(void)
{
	struct mars_task_id *ids;

	OK(mars_context_create(&mars, 1, 0));
	ids = start(&other, 1, 0, 0);
	finish(start(&calls, 1, (uint64_t)(uintptr_t)slow, 0), 1, 0);
	finish(ids, 1, 0);
	printf("%lu turns of the other task during %d calls of 1 ms\n", (unsigned long)turns, CALLS);
	return end("hostcall");
}
