/* Fourier transforms of many signals: tasks share the butterflies of a stage, and meet at a barrier
   before the next. A few results are compared with those of the definition. */
#include <complex.h>
#include <math.h>
#include "program.h"

enum { TASKS = 16, BATCHES = 16, BITS = 12, POINTS = 1 << BITS };
static float complex signals[BATCHES][POINTS], results[BATCHES][POINTS], twiddles[POINTS / 2];

static uint32_t reversed(uint32_t i)
{
	uint32_t bit, r = 0;

	for (bit = 0; bit < BITS; bit++)
		r |= (i >> bit & 1) << (BITS - 1 - bit);
	return r;
}

static int fft_main(const struct mars_task_args *args)
{
	uint64_t barrier = args->type.u64[0], part = args->type.u64[2];
	uint32_t batch, stage, i, from = (uint32_t)part * (POINTS / 2 / TASKS);
	uint32_t to = from + POINTS / 2 / TASKS;

	for (batch = 0; batch < BATCHES; batch++) {
		float complex *r = results[batch];

		for (i = 2 * from; i < 2 * to; i++)
			r[i] = signals[batch][reversed(i)];
		for (stage = 0; stage < BITS; stage++) {
			uint32_t half = 1u << stage;

			OK(mars_task_barrier_notify(barrier));
			OK(mars_task_barrier_wait(barrier));
			for (i = from; i < to; i++) {
				uint32_t at = i % half + i / half * 2 * half;
				float complex odd = r[at + half] * twiddles[i % half << (BITS - 1 - stage)];

				r[at + half] = r[at] - odd;
				r[at] += odd;
			}
		}
	}
	return 0;
}
static MARS_TASK_IMAGE(program, fft_main);

int main(void)
{
	uint64_t barrier;
	double worst = 0;
	int b, i, k;

	for (i = 0; i < POINTS / 2; i++)
		twiddles[i] = (float complex)cexp(-2 * M_PI * I * i / POINTS);
	for (b = 0; b < BATCHES; b++)
		for (i = 0; i < POINTS; i++)
			signals[b][i] = (float)((i * (b + 3)) % 97) - 48 + I * (float)((i + b) % 31 - 15);
	OK(mars_context_create(&mars, 0, 0));
	OK(mars_task_barrier_create(mars, &barrier, TASKS));
	finish(start(&program, TASKS, barrier, 0), TASKS, 0);
	for (b = 0; b < BATCHES; b++)
		for (k = 1; k < POINTS; k += 997) {
			double complex sum = 0;
			double power = 0;

			for (i = 0; i < POINTS; i++) {
				sum += signals[b][i] * cexp(-2 * M_PI * I * ((double)i * k / POINTS));
				power += cabs(signals[b][i]) * cabs(signals[b][i]);
			}
			worst = fmax(worst, cabs(sum - results[b][k]) / sqrt(power));
		}
	printf("largest error %.1e\n", worst);
	CHECK(worst < 1e-4);
	OK(mars_task_barrier_destroy(barrier));
	return end("fft");
}
