/* Tasks, for the compiler of task programs: with get() and put(). */
#include_next <mars/task.h>
#ifndef MARS_NO_GETPUT /* for programs that have a get and a put of their own */
#include <mars/getput.h>
#endif
