/* What the programs share: a context, tasks of one program, and the last line with PASS or FAIL and
   how much the MPUs were used. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <mars/mutex.h>
#include <mars/task.h>
#include <mars/task_image.h>
#include <mars/utilisation.h>
#include "check.h"

#define SAVE MARS_TASK_CONTEXT_SAVE_SIZE_MAX

static struct mars_context *mars;

static inline double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* count tasks of a program, scheduled with the arguments a, b and their number. */
static inline struct mars_task_id *start(const void *image, int count, uint64_t a, uint64_t b)
{
	struct mars_task_id *ids = calloc((size_t)count, sizeof(*ids));
	struct mars_task_args args;
	int i;

	memset(&args, 0, sizeof(args));
	args.type.u64[0] = a;
	args.type.u64[1] = b;
	for (i = 0; i < count; i++)
		OK(mars_task_create(mars, &ids[i], "", image, SAVE));
	for (i = 0; i < count; i++) {
		args.type.u64[2] = (uint64_t)i;
		OK(mars_task_schedule(&ids[i], &args, 0));
	}
	return ids;
}

/* Waits for them, and destroys them; each must have returned code. */
static inline void finish(struct mars_task_id *ids, int count, int32_t code)
{
	int32_t returned;
	int i;

	for (i = 0; i < count; i++) {
		OK(mars_task_wait(&ids[i], &returned));
		CHECK(returned == code);
		OK(mars_task_destroy(&ids[i]));
	}
	free(ids);
}

/* The last line; destroys the context. */
static inline int end(const char *name)
{
	uint32_t i, mpus = mars_context_get_num_mpus(mars);
	double share;

	printf("used:");
	for (i = 0; i < mpus; i++) {
		OK(mars_context_utilisation(mars, i, &share));
		printf(" MPU %u %.0f %%", i, 100 * share);
	}
	printf("\n");
	OK(mars_context_destroy(mars));
	return verdict(name);
}

#endif
