/* What the programs share: each prints PASS or FAIL and returns accordingly. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>

static int failed;

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			failed++; \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
		} \
	} while (0)

#define OK(call) CHECK((call) == MARS_SUCCESS)

static inline int verdict(const char *name)
{
	printf("%s: %s\n", failed ? "FAIL" : "PASS", name);
	return failed != 0;
}

#endif
