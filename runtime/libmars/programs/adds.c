/* N tasks add to one number, R times: adds [N [R]]. */
#include <stdlib.h>
#include <libspe2.h>
#include <mars/task.h>
#include <mars/task_image.h>
#include "check.h"

int adds_main(const struct mars_task_args *args); /* mars_task_main of adds_task.c */
static MARS_TASK_IMAGE(adds, adds_main);
static struct spe_program_handle program = { sizeof(program), (void *)&adds, 0 };

int main(int argc, char **argv)
{
	long count = argc > 1 ? atol(argv[1]) : 100, rounds = argc > 2 ? atol(argv[2]) : 20;
	struct mars_task_id *ids = calloc((size_t)count, sizeof(*ids));
	uint64_t turn = 0, total = mars_ea_memalign(128, 128);
	struct mars_context *mars;
	struct mars_task_args args;
	int32_t code = -1;
	long i, r;

	OK(mars_context_create(&mars, 0, 0));
	OK(mars_task_semaphore_create(mars, &turn, 1));
	mars_ea_put_uint32(total, 0);
	args.type.u64[0] = turn;
	args.type.u64[1] = total;
	for (i = 0; i < count; i++)
		OK(mars_task_create(mars, &ids[i], "adds", program.elf_image,
				    MARS_TASK_CONTEXT_SAVE_SIZE_MAX));
	for (r = 0; r < rounds; r++) {
		for (i = 0; i < count; i++)
			OK(mars_task_schedule(&ids[i], &args, (uint8_t)i));
		for (i = 0; i < count; i++) {
			OK(mars_task_wait(&ids[i], &code));
			CHECK(code == 0);
		}
	}
	CHECK(mars_ea_get_uint32(total) == (uint32_t)(count * rounds));
	printf("%ld tasks on %u MPUs, %ld rounds: %u\n", count, mars_context_get_num_mpus(mars),
	       rounds, mars_ea_get_uint32(total));
	CHECK(mars_context_destroy(mars) == MARS_ERROR_STATE);
	for (i = 0; i < count; i++)
		OK(mars_task_destroy(&ids[i]));
	OK(mars_task_semaphore_destroy(turn));
	OK(mars_context_destroy(mars));
	mars_ea_free(total);
	free(ids);
	return verdict("adds");
}
