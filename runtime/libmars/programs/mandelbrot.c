/* Rows of very uneven work, which tasks take from a counter under a mutex. */
#include "program.h"

enum { WIDTH = 400, HEIGHT = 300, MOST = 2000 };
static uint16_t depth[HEIGHT][WIDTH];

static uint16_t escape(int x, int y)
{
	double a = -2.2 + 3.2 * x / WIDTH, b = -1.2 + 2.4 * y / HEIGHT, r = 0, i = 0, t;
	uint16_t n;

	for (n = 0; n < MOST && r * r + i * i < 4; n++) {
		t = r * r - i * i + a;
		i = 2 * r * i + b;
		r = t;
	}
	return n;
}

static int mandelbrot_main(const struct mars_task_args *args)
{
	struct mars_mutex line; /* the counter lies in the line of the mutex */
	uint32_t row;
	int x;

	for (;;) {
		OK(mars_mutex_lock_get(args->type.u64[0], &line));
		memcpy(&row, line.pad, sizeof(row));
		row++;
		memcpy(line.pad, &row, sizeof(row));
		OK(mars_mutex_unlock_put(args->type.u64[0], &line));
		if (row > HEIGHT)
			return 0;
		for (x = 0; x < WIDTH; x++)
			depth[row - 1][x] = escape(x, (int)row - 1);
		OK(mars_task_yield());
	}
}
static MARS_TASK_IMAGE(program, mandelbrot_main);

int main(void)
{
	uint64_t mutex;
	int x, y, wrong = 0;

	OK(mars_context_create(&mars, 0, 0));
	OK(mars_mutex_create(&mutex));
	CHECK(mars_mutex_unlock(mutex) == MARS_ERROR_STATE);
	finish(start(&program, 20, mutex, 0), 20, 0);
	for (y = 0; y < HEIGHT; y += 7)
		for (x = 0; x < WIDTH; x++)
			wrong += depth[y][x] != escape(x, y);
	CHECK(wrong == 0);
	OK(mars_mutex_destroy(mutex));
	return end("mandelbrot");
}
