/* As many tasks as a context has room for; one more has none. Those of the highest priority begin
   first. */
#include "program.h"

enum { MOST = 65535 };
static struct mars_task_id ids[MOST];
static uint32_t begun, first;

static int fill_main(const struct mars_task_args *args)
{
	uint32_t place = __atomic_add_fetch(&begun, 1, __ATOMIC_SEQ_CST);

	if (args->type.u64[0])
		first = place;
	return 0;
}
static MARS_TASK_IMAGE(program, fill_main);

/* The only MPU schedules them all, before any of them can begin. */
static int fills_main(const struct mars_task_args *args)
{
	struct mars_task_args given = *args;
	int i;

	for (i = 0; i < 100; i++) {
		given.type.u64[0] = 0;
		OK(mars_task_schedule(&ids[i], &given, 0));
	}
	given.type.u64[0] = 1;
	OK(mars_task_schedule(&ids[100], &given, 255));
	return 0;
}
static MARS_TASK_IMAGE(fills, fills_main);

int main(void)
{
	struct mars_task_args args;
	struct mars_task_id one_more;
	int i, made;

	memset(&args, 0, sizeof(args));
	OK(mars_context_create(&mars, 1, 0));
	finish(start(&program, 1, 0, 0), 1, 0);
	for (made = 0; made < MOST - 1; made++)
		if (mars_task_create(mars, &ids[made], "", &program, SAVE))
			break;
	CHECK(made == MOST - 1);
	OK(mars_task_create(mars, &ids[made], "", &fills, SAVE));
	CHECK(mars_task_create(mars, &one_more, "", &program, SAVE) == MARS_ERROR_LIMIT);
	CHECK(one_more.mars_context_ea == 0);
	begun = 0;
	OK(mars_task_schedule(&ids[made], &args, 9));
	for (i = 0; i <= 100; i++) {
		OK(mars_task_wait(&ids[made], NULL));
		OK(mars_task_wait(&ids[i], NULL));
	}
	printf("of 101 ready tasks that of priority 255 began as number %u\n", first);
	CHECK(begun == 101 && first == 1);
	for (i = 0; i < made; i++)
		OK(mars_task_schedule(&ids[i], &args, (uint8_t)(i * 7)));
	for (i = 0; i < made; i++)
		OK(mars_task_wait(&ids[i], NULL));
	CHECK(begun == 101 + (uint32_t)made);
	for (i = 0; i <= made; i++)
		OK(mars_task_destroy(&ids[i]));
	return end("fill");
}
