"""An answer that goes on, line by line."""

from __future__ import annotations

import http.client
import json
import socket
import time
from typing import Any

from .errors import ConnectionFailed
from .times import socket_timeout

#: Dibs sends shorter ones.
_LONGEST_LINE = 65_536


class Lines:
    """One thread reads them. Any thread may hang up: that ends a read that waits, at once."""

    def __init__(self, limit: float) -> None:
        """`limit`: how many seconds the first line may take."""
        self._first_until = time.monotonic() + limit
        #: Somebody has hung up.
        self.is_over = False
        self._connection: http.client.HTTPConnection | None = None
        self._socket: socket.socket | None = None
        self._response: http.client.HTTPResponse | None = None

    def left(self) -> float:
        """The seconds that the first line still may take."""
        return max(0.0, self._first_until - time.monotonic())

    def is_late(self) -> bool:
        """Whether the other side was there, and its first line did not come in time."""
        return self._socket is not None and self.left() == 0

    def connect(self, connection: http.client.HTTPConnection) -> None:
        self._connection = connection
        is_new = connection.sock is None
        if is_new:
            connection.connect()
        self._socket = connection.sock
        # `hang_up` sets it, and then looks for the socket. So one of the two sees the other.
        if self.is_over:
            raise ConnectionError("somebody has hung up")
        connection.sock.settimeout(socket_timeout(self.left()))

    def begin(self, response: http.client.HTTPResponse) -> None:
        self._response = response
        if self._connection is not None:
            # An answer that ends with its connection has taken the socket out of it. A fork looks for it there.
            self._connection.sock = self._socket

    def next(self, limit: float) -> dict[str, Any]:
        """Raises ConnectionFailed when the answer has ended, or when nothing is heard for `limit` seconds."""
        line: Any = None
        try:
            if self._socket is not None and self._response is not None:
                self._socket.settimeout(socket_timeout(limit))
                line = json.loads(self._response.readline(_LONGEST_LINE))
        except (OSError, ValueError, RecursionError, http.client.HTTPException):
            pass  # It may quote the line, and that may quote the key.
        if not isinstance(line, dict):
            raise ConnectionFailed("the answer has no further line")
        return line

    def hang_up(self) -> None:
        self.is_over = True
        if self._socket is not None:
            try:
                # Not that of TLS: it would take the session of TLS away from the thread that reads.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            except OSError:
                pass  # It is closed already.

    def close(self) -> None:
        """By the thread that reads."""
        if self._response is not None:
            self._response.close()
        if self._connection is not None:
            self._connection.close()
