/*
 * A plain loop that sends frames by AF_XDP, and a program of XDP that counts and drops them: what
 * the kernel gives without a measuring tool around it.
 *
 * `frames FROM TO LENGTH SECONDS CPU` sends frames of LENGTH bytes (without the frame check
 * sequence) from interface FROM on that CPU for so long, with copies, and prints how many it sent
 * and how many arrived at interface TO, as JSON.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/if_xdp.h>
#include <net/if.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 512, FRAME = 2048, BATCH = 32 };

struct ring {
	uint32_t *producer, *consumer;
	void *entries;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int bpf(int command, union bpf_attr *attributes)
{
	int result = (int)syscall(SYS_bpf, command, attributes, sizeof *attributes);

	if (result < 0)
		err(1, "bpf(2), command %d", command);
	return result;
}

/* Attaches a program that counts in a map and drops; returns the map. */
static int attach(const char *name)
{
	union bpf_attr map = { .map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8,
			       .max_entries = 1 };
	int counts = bpf(BPF_MAP_CREATE, &map);
	struct bpf_insn code[] = {
		{ BPF_ST | BPF_MEM | BPF_W, BPF_REG_10, 0, -4, 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_X, BPF_REG_2, BPF_REG_10, 0, 0 },
		{ BPF_ALU64 | BPF_ADD | BPF_K, BPF_REG_2, 0, 0, -4 },
		{ BPF_LD | BPF_DW | BPF_IMM, BPF_REG_1, BPF_PSEUDO_MAP_FD, 0, counts },
		{ 0 },
		{ BPF_JMP | BPF_CALL, 0, 0, 0, BPF_FUNC_map_lookup_elem },
		{ BPF_JMP | BPF_JEQ | BPF_K, BPF_REG_0, 0, 2, 0 },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_1, 0, 0, 1 },
		{ BPF_STX | BPF_ATOMIC | BPF_DW, BPF_REG_0, BPF_REG_1, 0, BPF_ADD },
		{ BPF_ALU64 | BPF_MOV | BPF_K, BPF_REG_0, 0, 0, XDP_DROP },
		{ BPF_JMP | BPF_EXIT, 0, 0, 0, 0 },
	};
	union bpf_attr program = { .prog_type = BPF_PROG_TYPE_XDP, .insns = (uintptr_t)code,
				   .insn_cnt = sizeof code / sizeof *code, .license = (uintptr_t) "" };
	union bpf_attr link = { 0 };

	link.link_create.prog_fd = (uint32_t)bpf(BPF_PROG_LOAD, &program);
	link.link_create.target_ifindex = if_nametoindex(name);
	link.link_create.attach_type = BPF_XDP;
	link.link_create.flags = XDP_FLAGS_DRV_MODE;
	bpf(BPF_LINK_CREATE, &link);
	return counts;
}

static uint64_t counted(int map)
{
	uint32_t key = 0;
	uint64_t count = 0;
	union bpf_attr look = { .map_fd = (uint32_t)map, .key = (uintptr_t)&key,
				.value = (uintptr_t)&count };

	bpf(BPF_MAP_LOOKUP_ELEM, &look);
	return count;
}

static struct ring map_ring(int socket, const struct xdp_ring_offset *offset, size_t entry,
			    uint64_t place)
{
	size_t length = offset->desc + SLOTS * entry;
	char *base = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, socket,
			  (off_t)place);

	if (base == MAP_FAILED)
		err(1, "mmap(2) of a ring");
	return (struct ring){ (uint32_t *)(base + offset->producer),
			      (uint32_t *)(base + offset->consumer), base + offset->desc };
}

static void set(int socket, int option, const void *value, socklen_t length)
{
	if (setsockopt(socket, SOL_XDP, option, value, length) != 0)
		err(1, "setsockopt(2), option %d", option);
}

/* Opens a socket with the memory of its frames, and maps the rings of sending. */
static int open_socket(const char *name, char *memory, struct ring *send, struct ring *done)
{
	int socket_ = socket(AF_XDP, SOCK_RAW, 0);
	struct xdp_umem_reg region = { .addr = (uintptr_t)memory, .len = SLOTS * FRAME,
				       .chunk_size = FRAME };
	struct sockaddr_xdp address = { .sxdp_family = AF_XDP, .sxdp_flags = XDP_COPY,
					.sxdp_ifindex = if_nametoindex(name) };
	struct xdp_mmap_offsets offsets;
	socklen_t length = sizeof offsets;
	int slots = SLOTS;

	if (socket_ < 0)
		err(1, "socket(2)");
	set(socket_, XDP_UMEM_REG, &region, sizeof region);
	set(socket_, XDP_UMEM_FILL_RING, &slots, sizeof slots);
	set(socket_, XDP_UMEM_COMPLETION_RING, &slots, sizeof slots);
	set(socket_, XDP_TX_RING, &slots, sizeof slots);
	if (getsockopt(socket_, SOL_XDP, XDP_MMAP_OFFSETS, &offsets, &length) != 0)
		err(1, "getsockopt(2)");
	*send = map_ring(socket_, &offsets.tx, sizeof(struct xdp_desc), XDP_PGOFF_TX_RING);
	*done = map_ring(socket_, &offsets.cr, sizeof(uint64_t), XDP_UMEM_PGOFF_COMPLETION_RING);
	/* The kernel frees what another socket had a while after its end. */
	for (int tries = 0; bind(socket_, (struct sockaddr *)&address, sizeof address) != 0; tries++) {
		if (errno != EBUSY || tries == 30)
			err(1, "bind(2) to %s", name);
		usleep(30000);
	}
	return socket_;
}

/* An Ethernet header with an IPv4 and a UDP header without checksums, to nobody. */
static void write_frame(char *frame, int length)
{
	static const unsigned char start[] = { 2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0,
					       0x45, 0, 0, 0, 0, 0, 0, 0, 64, 17, 0, 0,
					       198, 18, 0, 1, 198, 18, 0, 2, 0, 9, 0, 9 };

	memset(frame, 0, (size_t)length);
	memcpy(frame, start, sizeof start);
	frame[16] = (char)((length - 14) >> 8);
	frame[17] = (char)(length - 14);
	frame[38] = (char)((length - 34) >> 8);
	frame[39] = (char)(length - 34);
}

int main(int count, char **words)
{
	struct ring send, done;
	cpu_set_t cpus;
	uint32_t queued = 0;
	uint64_t sent = 0;

	if (count != 6)
		errx(2, "frames FROM TO LENGTH SECONDS CPU");
	CPU_ZERO(&cpus);
	CPU_SET((size_t)atoi(words[5]), &cpus);
	if (sched_setaffinity(0, sizeof cpus, &cpus) != 0)
		err(1, "CPU %s", words[5]);

	int length = atoi(words[3]), map = attach(words[2]);
	char *memory = mmap(NULL, SLOTS * FRAME, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (memory == MAP_FAILED)
		err(1, "mmap(2)");
	for (int i = 0; i < SLOTS; i++)
		write_frame(memory + i * FRAME, length);

	int socket_ = open_socket(words[1], memory, &send, &done);
	struct xdp_desc *descriptors = send.entries;
	double begin = now(), end = begin + atof(words[4]);

	while (now() < end) {
		uint32_t finished = __atomic_load_n(done.producer, __ATOMIC_ACQUIRE);

		__atomic_store_n(done.consumer, finished, __ATOMIC_RELEASE);
		for (int i = 0; i < BATCH && queued - finished < SLOTS; i++, queued++)
			descriptors[queued % SLOTS] =
				(struct xdp_desc){ queued % SLOTS * FRAME, (uint32_t)length, 0 };
		__atomic_store_n(send.producer, queued, __ATOMIC_RELEASE);
		if (sendto(socket_, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0 && errno != EAGAIN &&
		    errno != EBUSY && errno != ENOBUFS)
			err(1, "sendto(2)");
	}
	sent = __atomic_load_n(done.producer, __ATOMIC_ACQUIRE);

	double span = now() - begin;

	usleep(200000);
	printf("{\"sent\": %llu, \"received\": %llu, \"seconds\": %.6f}\n", (unsigned long long)sent,
	       (unsigned long long)counted(map), span);
	return 0;
}
