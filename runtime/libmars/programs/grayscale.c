/* Colours to grey, 1920 x 1080: tiles are fetched, computed and stored, with one, two or three
   buffers. A tile's copies are waited for only when its buffer is needed. */
#include <mars/module.h>
#include "program.h"

enum { WIDTH = 1920, HEIGHT = 1080, PIXELS = WIDTH * HEIGHT, TILE = 3840, TILES = PIXELS / TILE };
static uint32_t *image;
static unsigned char *grey;
static uint32_t next;

static unsigned char grey_of(uint32_t pixel)
{
	return (unsigned char)((77 * (pixel & 255) + 150 * (pixel >> 8 & 255) +
				29 * (pixel >> 16 & 255)) >> 8);
}

static void fetch(uint32_t tile, uint32_t *in, uint32_t tag)
{
	if (tile < TILES)
		OK(mars_module_dma_get(in, mars_ptr_to_ea(image + (size_t)tile * TILE), 4 * TILE, tag));
}

static int gray_main(const struct mars_task_args *args)
{
	uint32_t buffers = (uint32_t)args->type.u64[0], i, p, tile[3];
	uint32_t *in = mars_ea_to_ptr(mars_ea_memalign(128, buffers * TILE * 4));
	unsigned char *out = mars_ea_to_ptr(mars_ea_memalign(128, buffers * TILE));

	for (i = 0; i < buffers; i++) {
		tile[i] = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
		fetch(tile[i], in + i * TILE, i);
	}
	for (i = 0; tile[i] < TILES; i = (i + 1) % buffers) {
		OK(mars_module_dma_wait(i));
		for (p = 0; p < TILE; p++)
			out[i * TILE + p] = grey_of(in[i * TILE + p]);
		OK(mars_module_dma_put(out + i * TILE, mars_ptr_to_ea(grey + (size_t)tile[i] * TILE),
				       TILE, i));
		tile[i] = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);
		OK(mars_module_dma_wait(i));
		fetch(tile[i], in + i * TILE, i);
	}
	mars_ea_free(mars_ptr_to_ea(in));
	mars_ea_free(mars_ptr_to_ea(out));
	return 0;
}
static MARS_TASK_IMAGE(program, gray_main);

int main(void)
{
	int buffers, tasks, i;
	double begin;

	image = mars_ea_to_ptr(mars_ea_memalign(128, PIXELS * 4));
	grey = mars_ea_to_ptr(mars_ea_memalign(128, PIXELS));
	for (i = 0; i < PIXELS; i++)
		image[i] = (uint32_t)i * 2654435761u;
	OK(mars_context_create(&mars, 0, 0));
	tasks = (int)mars_context_get_num_mpus(mars);
	for (buffers = 1; buffers <= 3; buffers++) {
		memset(grey, 0, PIXELS);
		next = 0;
		begin = seconds();
		finish(start(&program, tasks, (uint64_t)buffers, 0), tasks, 0);
		printf("%d buffers: %.2f GB/s\n", buffers, PIXELS * 5e-9 / (seconds() - begin));
		for (i = 0; i < PIXELS; i++)
			if (grey[i] != grey_of(image[i]))
				break;
		CHECK(i == PIXELS);
	}
	mars_ea_free(mars_ptr_to_ea(image));
	mars_ea_free(mars_ptr_to_ea(grey));
	return end("grayscale");
}
