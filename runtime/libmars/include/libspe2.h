/* The embedded program of a task, as the linker of the Cell processor made it. */
#ifndef MARS_LIBSPE2_H
#define MARS_LIBSPE2_H

struct spe_program_handle {
	unsigned int handle_size;
	void *elf_image;
	void *toe_shadow;
};

#endif
