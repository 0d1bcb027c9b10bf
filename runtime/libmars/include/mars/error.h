/* Result codes of all calls. */
#ifndef MARS_ERROR_H
#define MARS_ERROR_H

enum {
	MARS_SUCCESS = 0,
	MARS_ERROR_NULL,     /* a pointer or an address is 0 */
	MARS_ERROR_PARAMS,   /* a value is out of range, or a task is destroyed */
	MARS_ERROR_INTERNAL,
	MARS_ERROR_MEMORY,
	MARS_ERROR_ALIGN,    /* an address is not aligned */
	MARS_ERROR_LIMIT,    /* no more tasks */
	MARS_ERROR_STATE,    /* wrong state, or wrong direction */
	MARS_ERROR_FORMAT,   /* no program, or a run-complete task that would wait */
	MARS_ERROR_BUSY      /* a try_ call that would have to wait */
};

#endif
