/*
 * A plain loop over many TCP streams: what the kernel gives without a measuring tool around it.
 *
 * `streams server ADDRESS PORT STREAMS` serves one client after another;
 * `streams client ADDRESS PORT STREAMS SECONDS CONGESTION` sends for so long and prints what the
 * server says it received, as JSON. Nothing is written before all streams are connected; the
 * server reads until each has ended, so every byte that was sent is counted.
 *
 * Each side has THREADS threads, each with its epoll and one buffer for all its streams. Epoll is
 * level-triggered: the kernel keeps the ready streams in a queue, and one block a turn is fair.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 2, BLOCK = 128 << 10, TURN = 64, BACKLOG = 4096, PATIENCE_MS = 100 };

enum role { SERVER, CLIENT };

struct test {
	enum role role;
	int streams;
	double seconds;
	const char *congestion;
	int *sockets;
	uint64_t *received;
	double deadline;
	pthread_barrier_t start;
};

struct worker {
	struct test *test;
	int first;
	pthread_t thread;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* One block over a stream that is ready; 0 if it has ended. */
static int turn(struct test *test, int stream, char *block)
{
	int socket = test->sockets[stream];
	ssize_t count = test->role == CLIENT ? send(socket, block, BLOCK, MSG_DONTWAIT | MSG_NOSIGNAL)
					     : recv(socket, block, BLOCK, MSG_DONTWAIT);

	if (count < 0 && errno != EAGAIN && errno != EINTR)
		err(1, "stream %d", stream);
	if (count > 0 && test->role == SERVER)
		test->received[stream] += (uint64_t)count;
	return count != 0;
}

static int watch(struct test *test, int first)
{
	struct epoll_event event = { .events = test->role == CLIENT ? EPOLLOUT : EPOLLIN };
	int epoll = epoll_create1(0);

	if (epoll < 0)
		err(1, "epoll_create1");
	for (int stream = first; stream < test->streams; stream += THREADS) {
		event.data.u32 = (uint32_t)stream;
		if (epoll_ctl(epoll, EPOLL_CTL_ADD, test->sockets[stream], &event))
			err(1, "epoll_ctl");
	}
	return epoll;
}

static void *work(void *argument)
{
	struct worker *worker = argument;
	struct test *test = worker->test;
	struct epoll_event ready[TURN];
	int epoll = watch(test, worker->first);
	int open = (test->streams - worker->first + THREADS - 1) / THREADS;
	char *block = malloc(BLOCK);

	if (!block)
		err(1, "malloc");
	memset(block, 'x', BLOCK);
	pthread_barrier_wait(&test->start);
	while (open > 0 && (test->role == SERVER || now() < test->deadline)) {
		int count = epoll_wait(epoll, ready, TURN, PATIENCE_MS);

		for (int i = 0; i < count; i++) {
			int stream = (int)ready[i].data.u32;

			if (turn(test, stream, block))
				continue;
			epoll_ctl(epoll, EPOLL_CTL_DEL, test->sockets[stream], NULL);
			open--;
		}
	}
	free(block);
	close(epoll);
	return NULL;
}

/* Runs the workers from one start to the last one's end; the seconds between. */
static double play(struct test *test)
{
	struct worker workers[THREADS];
	double start;

	pthread_barrier_init(&test->start, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){ .test = test, .first = i };
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]))
			errx(1, "cannot start a thread");
	}
	start = now();
	test->deadline = start + test->seconds;
	pthread_barrier_wait(&test->start);
	/* The client waits for this byte: by now all streams are here, and so are the threads. */
	if (test->role == SERVER && send(test->sockets[0], "g", 1, 0) != 1)
		err(1, "cannot start the client");
	for (int i = 0; i < THREADS; i++)
		pthread_join(workers[i].thread, NULL);
	pthread_barrier_destroy(&test->start);
	return now() - start;
}

/* R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness, DEC-TR-301 (1984). */
static void tell(const struct test *test, double seconds)
{
	double sum = 0, squares = 0;
	uint64_t total = 0, least = UINT64_MAX;
	int idle = 0;

	for (int i = 0; i < test->streams; i++) {
		double bytes = (double)test->received[i];

		total += test->received[i];
		sum += bytes;
		squares += bytes * bytes;
		least = test->received[i] < least ? test->received[i] : least;
		idle += test->received[i] == 0;
	}
	dprintf(test->sockets[0],
		"{\"bytes\": %ju, \"seconds\": %.6f, \"streams\": %d, \"jain\": %.6f, "
		"\"least\": %ju, \"without_progress\": %d}\n",
		(uintmax_t)total, seconds, test->streams,
		squares > 0 ? sum * sum / (test->streams * squares) : 0, (uintmax_t)least, idle);
}

static void serve(struct test *test, const struct sockaddr_in *address)
{
	int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1;

	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener, (const struct sockaddr *)address, sizeof *address) ||
	    listen(listener, BACKLOG))
		err(1, "cannot listen");
	for (;;) {
		memset(test->received, 0, (size_t)test->streams * sizeof *test->received);
		for (int i = 0; i < test->streams; i++)
			if ((test->sockets[i] = accept(listener, NULL, NULL)) < 0)
				err(1, "cannot accept stream %d", i);
		tell(test, play(test));
		for (int i = 0; i < test->streams; i++)
			close(test->sockets[i]);
	}
}

static int dial(const struct test *test, const struct sockaddr_in *address)
{
	int stream = socket(AF_INET, SOCK_STREAM, 0);

	if (stream < 0)
		err(1, "socket");
	if (setsockopt(stream, IPPROTO_TCP, TCP_CONGESTION, test->congestion,
		       (socklen_t)strlen(test->congestion)))
		err(1, "congestion control %s", test->congestion);
	if (connect(stream, (const struct sockaddr *)address, sizeof *address))
		err(1, "cannot connect");
	return stream;
}

static void call(struct test *test, const struct sockaddr_in *address)
{
	char text[4096];
	ssize_t count;

	for (int i = 0; i < test->streams; i++)
		test->sockets[i] = dial(test, address);
	if (recv(test->sockets[0], text, 1, 0) != 1)
		errx(1, "the server did not start");
	play(test);
	for (int i = 0; i < test->streams; i++)
		shutdown(test->sockets[i], SHUT_WR);
	while ((count = recv(test->sockets[0], text, sizeof text, 0)) > 0)
		fwrite(text, 1, (size_t)count, stdout);
}

int main(int count, char **words)
{
	int is_client = count == 7 && !strcmp(words[1], "client");
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct rlimit files;
	struct test test = { 0 };

	if (!is_client && (count != 5 || strcmp(words[1], "server")))
		errx(2, "server ADDRESS PORT STREAMS | client ADDRESS PORT STREAMS SECONDS CONGESTION");
	test.role = is_client ? CLIENT : SERVER;
	test.streams = atoi(words[4]);
	test.seconds = is_client ? atof(words[5]) : 0;
	test.congestion = is_client ? words[6] : "";
	address.sin_port = htons((uint16_t)atoi(words[3]));
	if (test.streams < 1 || inet_pton(AF_INET, words[2], &address.sin_addr) != 1)
		errx(2, "%s is no IPv4 address, or %s no number of streams", words[2], words[4]);
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	test.sockets = calloc((size_t)test.streams, sizeof *test.sockets);
	test.received = calloc((size_t)test.streams, sizeof *test.received);
	if (!test.sockets || !test.received)
		err(1, "calloc");
	if (is_client)
		call(&test, &address);
	else
		serve(&test, &address);
	return 0;
}
