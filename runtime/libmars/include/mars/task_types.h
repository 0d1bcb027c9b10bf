/* Ids and arguments of tasks. */
#ifndef MARS_TASK_TYPES_H
#define MARS_TASK_TYPES_H

#include <stdint.h>
#include <mars/callback_types.h>

#define MARS_TASK_BASE_ADDR 0x4000
#define MARS_TASK_CONTEXT_SAVE_SIZE_MAX 0x3c000
#define MARS_TASK_NAME_LEN_MAX 21

struct mars_task_id {
	uint64_t mars_context_ea; /* 0: no task */
	uint16_t workload_id;
	uint8_t name[MARS_TASK_NAME_LEN_MAX + 1];
};

struct mars_task_args {
	union {
		uint8_t u8[32];
		uint16_t u16[16];
		uint32_t u32[8];
		uint64_t u64[4];
	} type;
};

#endif
