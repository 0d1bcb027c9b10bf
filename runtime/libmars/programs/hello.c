/* One task says hello; then it is scheduled a thousand times more, with other arguments. */
#include "program.h"

static int hello_main(const struct mars_task_args *args)
{
	if (args->type.u64[0] == 0)
		printf("hello from %s on MPU %u\n", mars_task_get_name(), mars_task_get_kernel_id());
	return (int)args->type.u64[0] + 42;
}
static MARS_TASK_IMAGE(hello, hello_main);

int main(void)
{
	struct mars_task_args args;
	struct mars_task_id id;
	int32_t code;
	int i;

	memset(&args, 0, sizeof(args));
	OK(mars_context_create(&mars, 0, 0));
	OK(mars_task_create(mars, &id, "hello", &hello, SAVE));
	OK(mars_task_wait(&id, &code)); /* it was never scheduled */
	CHECK(code == 0);
	for (i = 0; i <= 1000; i++) {
		args.type.u64[0] = (uint64_t)i;
		OK(mars_task_schedule(&id, &args, 0));
		OK(mars_task_wait(&id, &code));
		CHECK(code == i + 42);
	}
	OK(mars_task_destroy(&id));
	return end("hello");
}
