"""Runs a server."""

import os
import signal
import subprocess
import tempfile
import time
from types import TracebackType
from typing import Optional, Sequence, Type

from ._command import program as find
from ._errors import error

#: How long a server may take to listen, and to end, in seconds.
_PATIENCE = 10.0


class Server:
    """A server that runs until ``stop``, or the end of its ``with`` block."""

    #: The port on which it listens, TCP and UDP.
    port: int

    def __init__(self, command: Sequence[str]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="linerate-")
        ready = os.path.join(self._folder.name, "ready")
        self._process = subprocess.Popen(
            [*command, "--ready-file", ready],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
        try:
            self.port = self._listening(ready)
        except BaseException:
            self.stop()
            raise

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def stop(self) -> None:
        """Ends the server, and tests that run."""
        # The second ends tests that run.
        for number in (signal.SIGTERM, signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                self._process.send_signal(number)
                try:
                    self._process.wait(_PATIENCE / 5)
                except subprocess.TimeoutExpired:
                    continue
        self._process.wait()
        if self._process.stderr:
            self._process.stderr.close()
        self._folder.cleanup()

    def __enter__(self) -> "Server":
        return self

    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        value: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self.stop()

    def _listening(self, ready: str) -> int:
        end = time.monotonic() + _PATIENCE
        while time.monotonic() < end:
            try:
                with open(ready, encoding="utf-8") as file:
                    address = file.read().strip()
                if address:
                    return int(address.rsplit(":", 1)[1])
            except FileNotFoundError:
                pass
            code = self._process.poll()
            if code is not None:
                told = self._process.stderr.read() if self._process.stderr else ""
                lines = told.strip().splitlines()
                raise error(code, lines[-1] if lines else "the server ended")
            time.sleep(0.02)
        raise error(1, f"the server did not listen within {_PATIENCE:.0f} s")


def serve(
    *,
    port: int = 0,
    bind: Optional[str] = None,
    options: Sequence[str] = (),
    program: Optional[str] = None,
) -> Server:
    """A server for linerate and iperf3, on a free port unless one is given, which runs when this
    returns; ``options`` are those of ``linerate serve``. Raises a ``LinerateError``."""
    words = ["--port", str(port)]
    words += [] if bind is None else ["--bind", bind]
    return Server([find(program), "serve", *words, *options])
