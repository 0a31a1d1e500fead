"""The client: sends requests over connections that it keeps."""

from __future__ import annotations

import http.client
import json
import random
import re
import ssl
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode, urlsplit

from .generated import Operations


class DibsError(Exception):
    """Dibs refused a request. `code` is for programs, and stable."""

    def __init__(self, problem: dict[str, Any], retry_after: float = 0) -> None:
        self.problem = problem
        self.code: str = problem.get("code", "internal")
        self.status: int = problem.get("status", 500)
        self.retry_after = retry_after
        super().__init__(f"{problem.get('detail') or problem.get('title') or self.code} ({self.code})")


class ConnectionFailed(Exception):
    """No answer came. What was asked for may have been done."""

    code = "connection"


def is_temporary(error: BaseException) -> bool:
    """Whether the same request may work a little later."""
    if isinstance(error, DibsError):
        return error.status >= 500 or error.status in (408, 429)
    return isinstance(error, ConnectionFailed)


def may_be_done(error: BaseException) -> bool:
    """Whether a request that failed may have counted."""
    if isinstance(error, DibsError):
        return error.status >= 500 and error.problem.get("outcome") != "not_done"
    return isinstance(error, ConnectionFailed)


def backoff(failures: int, error: BaseException | None) -> float:
    """How long to wait after this many failures in a row: a random share of a time that doubles (full jitter), so that many workers
    do not come back in step."""
    most = min(2.0, 0.1 * 2 ** min(failures, 10))
    asked = getattr(error, "retry_after", 0) or 0
    return asked + random.random() * (min(most, asked) if asked else most)


class Client(Operations):
    """One Dibs. It may be used by many threads."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        *,
        key: str | Callable[[], str] | None = None,
        timeout: float = 15,
        context: ssl.SSLContext | None = None,
    ) -> None:
        parts = urlsplit(url)
        self._host = parts.hostname or "127.0.0.1"
        self._port = parts.port
        self._is_tls = parts.scheme == "https"
        self._prefix = parts.path.rstrip("/")
        self._key = key
        self._timeout = timeout
        self._context = context
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        query: dict[str, Any] | None = None,
        headers: dict[str, str | None] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Raises DibsError for an answer that is not 2xx, ConnectionFailed when none came. A `str` body is sent as it is."""
        sent = {name: value for name, value in (headers or {}).items() if value is not None}
        key = self._key() if callable(self._key) else self._key
        if key:
            sent["authorization"] = f"Bearer {key}"
        data = None
        if body is not None:
            data = (body if isinstance(body, str) else json.dumps(body)).encode()
            sent["content-type"] = "application/json"
        given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        target = self._prefix + path + (f"?{urlencode(given)}" if given else "")
        limit = timeout if timeout is not None else self._timeout + _wait(body, query, sent)
        status, answer, text = self._send(method, target, data, sent, limit)
        if status >= 300:
            raise _refusal(status, answer, text)
        if not text:
            return None
        if "json" not in (answer.getheader("content-type") or "json"):
            if "openmetrics" in answer.getheader("content-type", "") or "plain" in answer.getheader("content-type", ""):
                return text.decode()
            raise ConnectionFailed(f"the answer of {method} {path} is no JSON")
        try:
            return json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ConnectionFailed(f"the answer of {method} {path} is no JSON") from error

    def _send(
        self, method: str, target: str, data: bytes | None, headers: dict[str, str], limit: float
    ) -> tuple[int, http.client.HTTPResponse, bytes]:
        connection = self._take(limit)
        try:
            connection.request(method, target, body=data, headers=headers)
            response = connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException, AttributeError, ValueError) as error:
            connection.close()
            raise ConnectionFailed(f"{method} {target}: {error!r}") from error
        if response.will_close:
            connection.close()
        else:
            with self._lock:
                self._idle.append(connection)
        return response.status, response, text

    def _take(self, limit: float) -> http.client.HTTPConnection:
        with self._lock:
            connection = self._idle.pop() if self._idle else None
        if connection is not None and _is_fresh(connection):
            connection.timeout = limit
            if connection.sock:
                connection.sock.settimeout(limit)
            return connection
        if connection is not None:
            connection.close()
        if self._is_tls:
            context = self._context or ssl.create_default_context()
            return http.client.HTTPSConnection(self._host, self._port, timeout=limit, context=context)
        return http.client.HTTPConnection(self._host, self._port, timeout=limit)


def _is_fresh(connection: http.client.HTTPConnection) -> bool:
    """Whether the other side still holds the connection: a closed one can be read."""
    if connection.sock is None:
        return False
    try:
        connection.sock.setblocking(False)
        try:
            connection.sock.recv(1)
            return False
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        finally:
            connection.sock.setblocking(True)
    except OSError:
        return False


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wait(body: Any, query: dict[str, Any] | None, headers: dict[str, str]) -> float:
    """The seconds for which the request asks Dibs to hold it."""
    if isinstance(body, dict) and body.get("wait_seconds"):
        return float(body["wait_seconds"])
    if query and query.get("wait_seconds"):
        return float(query["wait_seconds"])
    preferred = re.search(r"\bwait=(\d+)", headers.get("Prefer", ""))
    return float(preferred[1]) if preferred else 0


def _refusal(status: int, response: http.client.HTTPResponse, text: bytes) -> DibsError:
    """Something before Dibs, a proxy, may have answered: then there is no problem document."""
    try:
        problem = json.loads(text)
        problem["code"]
    except (ValueError, KeyError, TypeError):
        problem = {"code": f"http_{status}", "detail": text[:200].decode(errors="replace")}
    try:
        retry_after = max(0.0, float(response.getheader("retry-after", "0")))
    except ValueError:
        retry_after = 0
    return DibsError({**problem, "status": status}, retry_after)
