/* Mutexes of host threads and tasks. */
#ifndef MARS_MUTEX_H
#define MARS_MUTEX_H

#include <mars/mutex_types.h>

#ifdef __cplusplus
extern "C" {
#endif

int mars_mutex_create(uint64_t *mutex_ea);
int mars_mutex_destroy(uint64_t mutex_ea);
int mars_mutex_reset(uint64_t mutex_ea);
int mars_mutex_lock(uint64_t mutex_ea);
int mars_mutex_unlock(uint64_t mutex_ea);
/* With a copy of the whole line; the 124 bytes after its state are the user's. */
int mars_mutex_lock_get(uint64_t mutex_ea, struct mars_mutex *mutex);
int mars_mutex_unlock_put(uint64_t mutex_ea, struct mars_mutex *mutex);

#ifdef __cplusplus
}
#endif

#endif
