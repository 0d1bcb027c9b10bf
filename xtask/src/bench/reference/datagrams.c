/*
 * A plain loop that sends datagrams in one direction: what the kernel gives without a measuring
 * tool around it.
 *
 * `datagrams server ADDRESS PORT LENGTH PIECES` serves one client after another;
 * `datagrams client ADDRESS PORT LENGTH PIECES SECONDS` sends datagrams of LENGTH bytes for so
 * long and prints what the server says it received, as JSON. With PIECES 1 many datagrams go in
 * one piece (UDP_SEGMENT) and are taken so (UDP_GRO), with 0 each goes on its own. A control
 * connection by TCP begins and ends a test.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#define UDP_GRO 104
#endif

enum { CALLS = 8, BATCH = 64, PIECE = 65507, SEGMENTS = 128, BUFFER = 4 << 20 };

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static struct sockaddr_in address_of(const char *text, const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port)) };

	if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
		errx(2, "no address: %s", text);
	return address;
}

/* Counts what comes until the control connection says that it is over. */
static void count(int udp, int control, int pieces)
{
	static char room[BATCH][PIECE + 1];
	struct mmsghdr headers[BATCH] = { 0 };
	struct iovec vectors[BATCH];
	int slots = pieces ? CALLS : BATCH;
	uint64_t bytes = 0;
	double first = 0, last = 0;
	char text[64];

	for (int i = 0; i < slots; i++) {
		vectors[i] = (struct iovec){ room[i], sizeof room[i] };
		headers[i].msg_hdr.msg_iov = &vectors[i];
		headers[i].msg_hdr.msg_iovlen = 1;
	}
	for (;;) {
		int got = recvmmsg(udp, headers, (unsigned)slots, MSG_DONTWAIT, NULL);

		if (got <= 0) {
			struct pollfd both[] = { { udp, POLLIN, 0 }, { control, POLLIN, 0 } };

			poll(both, 2, 1000);
			if (!(both[0].revents & POLLIN) && both[1].revents)
				break;
			continue;
		}
		last = now();
		if (!first)
			first = last;
		for (int i = 0; i < got; i++)
			bytes += headers[i].msg_len;
	}
	int length = snprintf(text, sizeof text, "%llu %.6f", (unsigned long long)bytes, last - first);
	if (send(control, text, (size_t)length, 0) != length)
		warn("send");
}

static void serve(struct sockaddr_in address, int pieces)
{
	int on = 1, buffer = BUFFER;
	int udp = socket(AF_INET, SOCK_DGRAM, 0), tcp = socket(AF_INET, SOCK_STREAM, 0);

	setsockopt(tcp, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	setsockopt(udp, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
	if (pieces && setsockopt(udp, IPPROTO_UDP, UDP_GRO, &on, sizeof on))
		err(1, "UDP_GRO");
	if (bind(udp, (void *)&address, sizeof address) || bind(tcp, (void *)&address, sizeof address) ||
	    listen(tcp, 1))
		err(1, "bind");
	for (;;) {
		int control = accept(tcp, NULL, NULL);

		if (control < 0)
			err(1, "accept");
		if (send(control, "g", 1, 0) == 1)
			count(udp, control, pieces);
		close(control);
	}
}

static void run(struct sockaddr_in address, int length, int pieces, double seconds)
{
	static char payload[CALLS][PIECE + 1];
	struct mmsghdr headers[BATCH] = { 0 };
	struct iovec vectors[BATCH];
	_Alignas(8) char space[CMSG_SPACE(sizeof(uint16_t))] = { 0 };
	int udp = socket(AF_INET, SOCK_DGRAM, 0), tcp = socket(AF_INET, SOCK_STREAM, 0);
	int together = pieces ? PIECE / length : 1;
	int calls = pieces ? CALLS : BATCH;
	char text[64];
	ssize_t got;

	/* Memory that was never written is one page of zeros, which no cache misses. */
	memset(payload, 'x', sizeof payload);
	if (together > SEGMENTS)
		together = SEGMENTS;
	if (connect(tcp, (void *)&address, sizeof address) || connect(udp, (void *)&address, sizeof address))
		err(1, "connect");
	if (recv(tcp, text, 1, 0) != 1)
		err(1, "no answer");
	for (int i = 0; i < calls; i++) {
		vectors[i] = (struct iovec){ payload[i % CALLS], (size_t)(together * length) };
		headers[i].msg_hdr.msg_iov = &vectors[i];
		headers[i].msg_hdr.msg_iovlen = 1;
		if (together > 1) {
			uint16_t segment = (uint16_t)length;
			struct cmsghdr *message;

			headers[i].msg_hdr.msg_control = space;
			headers[i].msg_hdr.msg_controllen = sizeof space;
			message = CMSG_FIRSTHDR(&headers[i].msg_hdr);
			message->cmsg_level = IPPROTO_UDP;
			message->cmsg_type = UDP_SEGMENT;
			message->cmsg_len = CMSG_LEN(sizeof segment);
			memcpy(CMSG_DATA(message), &segment, sizeof segment);
		}
	}
	for (double end = now() + seconds; now() < end;)
		if (sendmmsg(udp, headers, (unsigned)calls, 0) < 0 && errno != ENOBUFS && errno != EAGAIN)
			err(1, "sendmmsg");
	shutdown(tcp, SHUT_WR);
	got = recv(tcp, text, sizeof text - 1, 0);
	if (got <= 0)
		err(1, "no result");
	text[got] = 0;
	unsigned long long bytes;
	double took;
	if (sscanf(text, "%llu %lf", &bytes, &took) != 2)
		errx(1, "no result: %s", text);
	printf("{\"bytes\": %llu, \"seconds\": %.6f, \"datagrams\": %llu}\n", bytes, took,
	       bytes / (unsigned)length);
}

int main(int count, char **words)
{
	if (count == 6 && !strcmp(words[1], "server"))
		serve(address_of(words[2], words[3]), atoi(words[5]));
	else if (count == 7 && !strcmp(words[1], "client"))
		run(address_of(words[2], words[3]), atoi(words[4]), atoi(words[5]), atof(words[6]));
	else
		errx(2, "see the head of the source");
	return 0;
}
