/* Two tasks wake each other by signals; three signals before a wait wake once. */
#include "program.h"

enum { ROUNDS = 20000 };
static struct mars_task_id ping, pong;

static int pingpong_main(const struct mars_task_args *args)
{
	struct mars_task_id *other = args->type.u64[0] ? &ping : &pong;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		if (args->type.u64[0] == 0)
			OK(mars_task_signal_send(other));
		OK(mars_task_signal_wait());
		if (args->type.u64[0] == 1)
			OK(mars_task_signal_send(other));
	}
	return 0;
}
static MARS_TASK_IMAGE(program, pingpong_main);

static int once_main(const struct mars_task_args *args)
{
	struct mars_task_id own = *mars_task_get_id();
	int i;

	(void)args;
	CHECK(mars_task_signal_try_wait() == MARS_ERROR_BUSY);
	for (i = 0; i < 3; i++)
		OK(mars_task_signal_send(&own));
	OK(mars_task_signal_wait());
	return mars_task_signal_try_wait();
}
static MARS_TASK_IMAGE(once, once_main);

int main(void)
{
	struct mars_task_args args;
	int32_t code;
	double begin;

	memset(&args, 0, sizeof(args));
	OK(mars_context_create(&mars, 0, 0));
	OK(mars_task_create(mars, &ping, "ping", &program, SAVE));
	OK(mars_task_create(mars, &pong, "pong", &program, SAVE));
	begin = seconds();
	args.type.u64[0] = 1;
	OK(mars_task_schedule(&pong, &args, 0));
	args.type.u64[0] = 0;
	OK(mars_task_schedule(&ping, &args, 0));
	OK(mars_task_wait(&ping, &code));
	CHECK(code == 0);
	OK(mars_task_wait(&pong, &code));
	CHECK(code == 0);
	printf("%.0f ns a round trip\n", (seconds() - begin) * 1e9 / ROUNDS);
	OK(mars_task_destroy(&ping));
	OK(mars_task_destroy(&pong));
	finish(start(&once, 1, 0, 0), 1, MARS_ERROR_BUSY);
	return end("pingpong");
}
