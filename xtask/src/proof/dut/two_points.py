"""Two points of a device, each with the kernel's time stamps (SO_TIMESTAMPNS, socket(7)): how long
frames of UDP take from the one to the other.

Usage: two_points.py IN OUT SECONDS, in the network of the device. It prints quantiles in
nanoseconds, as JSON, of frames that arrived at IN and left by OUT.
"""

import json
import select
import socket
import struct
import sys
import time

SO_TIMESTAMPNS = 35
SO_RCVBUFFORCE = 33
ALL_PROTOCOLS = 3
ROOM = 64 << 20
# From here on the payload of UDP over IPv4 differs from frame to frame.
LABEL = slice(46, 56)


def open_at(interface):
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    tap.bind((interface, 0))
    tap.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
    tap.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    tap.setblocking(False)
    return tap


def read(tap, leaves, times):
    while True:
        try:
            frame, controls, _, address = tap.recvmsg(128, 64)
        except BlockingIOError:
            return
        is_udp = len(frame) >= 56 and frame[12:14] == b"\x08\x00" and frame[23] == 17
        if is_udp and (address[2] == socket.PACKET_OUTGOING) == leaves:
            seconds, nanos = struct.unpack("qq", controls[0][2])
            times[frame[LABEL]] = seconds * 10**9 + nanos


def main(arrives, leaves, seconds):
    taps = {open_at(arrives): (False, {}), open_at(leaves): (True, {})}
    print("ready", flush=True)
    end = time.monotonic() + float(seconds)
    while time.monotonic() < end:
        for tap in select.select(list(taps), [], [], 0.1)[0]:
            read(tap, *taps[tap])
    (_, came), (_, went) = taps.values()
    spans = sorted(went[label] - at for label, at in came.items() if label in went)
    shares = {"p50_nanos": 0.5, "p90_nanos": 0.9, "p99_nanos": 0.99}
    quantiles = {name: spans[int((len(spans) - 1) * share)] for name, share in shares.items()}
    print(json.dumps({"frames": len(spans), **quantiles}))


main(*sys.argv[1:])
