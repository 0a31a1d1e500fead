"""Connections to one Dibs, which are kept."""

from __future__ import annotations

import http.client
import os
import re
import ssl
import weakref
from collections import deque
from typing import Any
from urllib.parse import urlsplit

from .times import socket_timeout

#: So many are kept for the next request.
_MOST_IDLE = 32

_open: weakref.WeakSet[http.client.HTTPConnection] = weakref.WeakSet()


def _close_copies() -> None:
    """A fork copied the connections: two processes would read each other's answers, and Dibs would not see that one has hung up."""
    for connection in list(_open):
        sock, connection.sock = connection.sock, None
        if sock is not None and (number := sock.detach()) >= 0:
            os.close(number)
    _open.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_copies)


class Connections:
    """Each is used by one request at a time. It takes no lock, so it may be used after a fork at any moment."""

    def __init__(self, url: str, context: ssl.SSLContext | None) -> None:
        self._is_tls, self._host, self._port, self.prefix = _address(url)
        host = f"[{self._host}]" if ":" in self._host else self._host
        port = "" if self._port is None else f":{self._port}"
        self.origin = f"{'https' if self._is_tls else 'http'}://{host}{port}"
        self._context = context
        self._idle: deque[http.client.HTTPConnection] = deque()

    def __getstate__(self) -> dict[str, Any]:
        # A copy of a client has connections of its own (multiprocessing).
        return {**self.__dict__, "_idle": deque()}

    def take(self, limit: float) -> http.client.HTTPConnection:
        timeout = socket_timeout(limit)
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                break
            if _is_fresh(connection):
                connection.timeout = timeout
                connection.sock.settimeout(timeout)
                return connection
            connection.close()
        # Without a port, `http.client` would take the last group of an address of IPv6 for one.
        if self._is_tls:
            context = self._context or ssl.create_default_context()
            connection = http.client.HTTPSConnection(self._host, self._port or 443, timeout=timeout, context=context)
        else:
            connection = http.client.HTTPConnection(self._host, self._port or 80, timeout=timeout)
        _open.add(connection)
        return connection

    def give(self, connection: http.client.HTTPConnection) -> None:
        if len(self._idle) < _MOST_IDLE:
            self._idle.append(connection)
        else:
            connection.close()


def _is_fresh(connection: http.client.HTTPConnection) -> bool:
    """Whether the other side still holds the connection: a closed one can be read."""
    if connection.sock is None:
        return False
    try:
        connection.sock.setblocking(False)
        connection.sock.recv(1)
        return False
    except (BlockingIOError, ssl.SSLWantReadError):
        return True
    except OSError:
        return False


def _address(url: str) -> tuple[bool, str, int | None, str]:
    """Raises ValueError for what can be no URL of Dibs. It shows no part of the URL that may be a secret."""
    if not isinstance(url, str):
        raise ValueError("the URL of Dibs must be a text")
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname or "", parts.port
        host.encode("idna")
    except ValueError:
        host, port = "", 0
    if port == 0 or not re.fullmatch(r"[^\s\x00-\x20\x7f/\\]*", host):
        raise ValueError("the URL of Dibs has a host or a port that cannot be")
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("the URL of Dibs must begin with http:// or https://, and name a host")
    if "@" in parts.netloc:
        raise ValueError("the URL of Dibs may have no user name: give the access key as `key`")
    if parts.query or parts.fragment:
        raise ValueError("the URL of Dibs may have no query and no fragment")
    return parts.scheme == "https", host, port, parts.path.rstrip("/")
