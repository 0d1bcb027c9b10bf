/* Entries go from the host through two tasks back to the host, in queues of several sizes. */
#include "program.h"

enum { ENTRIES = 400, BIGGEST = 16384 };
static uint32_t size;

struct stage {
	uint64_t from, to;
	int is_split; /* push and pop begin and end, with work in between */
};

static int stage_main(const struct mars_task_args *args)
{
	struct stage *stage = mars_ea_to_ptr(args->type.u64[0]);
	unsigned char *entry = mars_ea_to_ptr(mars_ea_memalign(128, size));
	uint64_t work = 0;
	uint32_t i, j;

	for (i = 0; i < ENTRIES; i++) {
		if (stage->is_split) {
			OK(mars_task_queue_pop_begin(stage->from, entry, 3));
			work += i;
			OK(mars_task_queue_pop_end(stage->from, 3));
		} else {
			OK(mars_task_queue_pop(stage->from, entry));
		}
		for (j = 0; j < size; j++)
			entry[j]++;
		if (stage->is_split) {
			OK(mars_task_queue_push_begin(stage->to, entry, 5));
			work += i;
			OK(mars_task_queue_push_end(stage->to, 5));
		} else {
			OK(mars_task_queue_push(stage->to, entry));
		}
	}
	mars_ea_free(mars_ptr_to_ea(entry));
	return work == (uint64_t)(ENTRIES * (ENTRIES - 1) * stage->is_split) ? 0 : 1;
}
static MARS_TASK_IMAGE(program, stage_main);

/* What one thread of the host pushes, it also pops: no more than fit are on their way. */
static void run(uint32_t bytes, uint32_t depth, int is_split)
{
	static unsigned char entry[BIGGEST], seen[BIGGEST];
	struct mars_task_id *first, *second;
	struct stage stages[2];
	uint64_t in, between, out;
	uint32_t pushed = 0, popped = 0, j, count;

	size = bytes;
	OK(mars_task_queue_create(mars, &in, size, depth, MARS_TASK_QUEUE_HOST_TO_MPU));
	OK(mars_task_queue_create(mars, &between, size, depth, MARS_TASK_QUEUE_MPU_TO_MPU));
	OK(mars_task_queue_create(mars, &out, size, depth, MARS_TASK_QUEUE_MPU_TO_HOST));
	CHECK(mars_task_queue_pop(in, entry) == MARS_ERROR_STATE); /* the wrong side */
	CHECK(mars_task_queue_try_pop(out, entry) == MARS_ERROR_BUSY);
	stages[0] = (struct stage){ in, between, is_split };
	stages[1] = (struct stage){ between, out, is_split };
	first = start(&program, 1, mars_ptr_to_ea(&stages[0]), 0);
	second = start(&program, 1, mars_ptr_to_ea(&stages[1]), 0);
	while (popped < ENTRIES) {
		memset(entry, (int)pushed, size);
		if (pushed < ENTRIES && mars_task_queue_try_push(in, entry) == MARS_SUCCESS) {
			pushed++;
			continue;
		}
		OK(mars_task_queue_peek(out, seen));
		CHECK(seen[0] == (unsigned char)(popped + 2));
		OK(mars_task_queue_pop(out, seen));
		for (j = 0; j < size; j++)
			if (seen[j] != (unsigned char)(popped + 2))
				break;
		CHECK(j == size);
		popped++;
	}
	OK(mars_task_queue_count(out, &count));
	CHECK(count == 0);
	finish(first, 1, 0);
	finish(second, 1, 0);
	OK(mars_task_queue_destroy(in));
	OK(mars_task_queue_destroy(between));
	OK(mars_task_queue_destroy(out));
}

int main(void)
{
	static const uint32_t sizes[] = { 16, 1024, BIGGEST }, depths[] = { 1, 7, 1024 };
	uint64_t queue;
	int i, j, is_split;

	OK(mars_context_create(&mars, 0, 0));
	CHECK(mars_task_queue_create(mars, &queue, 24, 1, 0x10) == MARS_ERROR_PARAMS);
	for (i = 0; i < 3; i++)
		for (j = 0; j < 3; j++)
			for (is_split = 0; is_split < 2; is_split++)
				run(sizes[i], depths[j], is_split);
	return end("pipeline");
}
