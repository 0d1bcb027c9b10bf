/* A function of this program as the program of a task. */
#ifndef MARS_TASK_IMAGE_H
#define MARS_TASK_IMAGE_H

#include <stdint.h>
#include <mars/task_types.h>

struct mars_task_image {
	char magic[8];
	uint32_t size, flags;
	int (*main)(const struct mars_task_args *);
};

/* Defines the program SYMBOL, whose main function is FUNCTION:
   MARS_TASK_IMAGE(adds, adds_main); ... mars_task_create(mars, &id, "adds", &adds, ...);
   What such tasks do not keep on their stacks, they share. */
#define MARS_TASK_IMAGE(symbol, function) \
	const struct mars_task_image symbol = { \
		"\x7f" "MARSTK", sizeof(struct mars_task_image), 0, function \
	}

#endif
