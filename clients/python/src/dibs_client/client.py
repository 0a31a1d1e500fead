"""The client: sends requests, and reads the answers."""

from __future__ import annotations

import http.client
import json
import math
import os
import re
import ssl
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from .causes import line
from .connections import Connections
from .errors import ConnectionFailed, DibsError, refusal, without
from .generated import Operations
from .key import Key, KeyFunction
from .lines import Lines
from .times import seconds

#: A key that was accepted, and is refused for so long, may have been rotated: the new one may come at any moment.
_PATIENCE = 60.0
#: These need no key, so their answers say nothing of it.
_PUBLIC = ("/healthz", "/readyz", "/version")


class Client(Operations):
    """One Dibs. It may be used by many threads, and before and after a fork."""

    def __init__(
        self,
        url: str = "http://127.0.0.1:8080",
        *,
        key: str | KeyFunction | None = None,
        key_file: str | None = None,
        timeout: float = 15,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """`key_file` is read again when its key is refused, so that a new one counts without a restart. `timeout`: how many seconds
        to wait for an answer, beside what the request asks Dibs to wait. Raises ValueError."""
        self._connections = Connections(url, context)
        self._key = Key(key, key_file)
        self._timeout = seconds("timeout", timeout)
        self._was_accepted = False
        self._refused_since = math.inf

    @classmethod
    def from_env(cls, env: Mapping[str, str] = os.environ) -> Client:
        """The Dibs of DIBS_URL, with the key of DIBS_KEY, or of the file DIBS_KEY_FILE. Raises ValueError."""
        url = env.get("DIBS_URL") or "http://127.0.0.1:8080"
        try:
            return cls(url, key=env.get("DIBS_KEY"), key_file=env.get("DIBS_KEY_FILE"))
        except ValueError as error:
            raise ValueError(f"{error} (DIBS_URL, DIBS_KEY, DIBS_KEY_FILE)") from None

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
        target, data, sent = self._prepared(path, body, query, headers)
        limit = self._timeout + _wait(body, query, sent) if timeout is None else seconds("timeout", timeout)
        response, text = self._answer(method, target, data, sent, limit)
        answer = _read(method, path, response, text)
        if path not in _PUBLIC:
            self._was_accepted = True
            self._refused_since = math.inf
        return answer

    def hold(self, path: str, body: Any, lines: Lines) -> dict[str, Any]:
        """Sends a POST whose answer goes on, and returns its first line. The caller reads the others, and closes `lines`. Raises as
        `request`."""
        target, data, sent = self._prepared(path, body, None, None)
        self._answer("POST", target, data, sent, lines.left(), lines)
        return lines.next(lines.left())

    def _prepared(
        self, path: str, body: Any, query: dict[str, Any] | None, headers: dict[str, str | None] | None
    ) -> tuple[str, bytes | None, dict[str, str]]:
        """The target, the data and the headers of a request."""
        sent = {name: value for name, value in (headers or {}).items() if value is not None}
        data = None
        if body is not None:
            data = (body if isinstance(body, str) else json.dumps(body, allow_nan=False)).encode()
            sent["content-type"] = "application/json"
        given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        target = self._connections.prefix + path + (f"?{urlencode(given)}" if given else "")
        _check(target, sent)
        return target, data, sent

    def _answer(
        self, method: str, target: str, data: bytes | None, headers: dict[str, str], limit: float, lines: Lines | None = None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        """An answer of 2xx. With `lines`, it is theirs to read."""
        key = self._key.read(limit)
        sent = {**headers, "authorization": f"Bearer {key}"} if key else headers
        response, text = self._send(method, target, data, sent, limit, key, lines)
        if response.status == 401 and self._key.is_renewed(key):
            return self._answer(method, target, data, headers, limit, lines)
        if not 200 <= response.status < 300:
            said, retry_after = text.decode(errors="replace"), response.getheader("retry-after")
            was_accepted = response.status == 401 and self._is_patient()
            raise refusal(response.status, said, retry_after, key, was_accepted=was_accepted)
        return response, text

    def _is_patient(self) -> bool:
        """Whether a key that is refused may be accepted again soon."""
        now = time.monotonic()
        self._refused_since = min(self._refused_since, now)
        return self._was_accepted and now - self._refused_since < _PATIENCE

    def _send(
        self,
        method: str,
        target: str,
        data: bytes | None,
        headers: dict[str, str],
        limit: float,
        key: str | None,
        lines: Lines | None,
    ) -> tuple[http.client.HTTPResponse, bytes]:
        try:
            return self._exchange(method, target, data, headers, limit, lines)
        except Exception as error:
            said = line(error)
            failure = ConnectionFailed(without(key, f"{method} {self._connections.origin}{target}: {said}"))
            if not key or key not in said:
                failure.__cause__ = error
        # It is raised here, so that it has no context: that may quote the key.
        raise failure

    def _exchange(
        self, method: str, target: str, data: bytes | None, headers: dict[str, str], limit: float, lines: Lines | None
    ) -> tuple[http.client.HTTPResponse, bytes]:
        connection = self._connections.take(limit)
        try:
            if lines:
                lines.connect(connection)
            response = _response(connection, method, target, data, headers)
            if lines and 200 <= response.status < 300:
                lines.begin(response)
                return response, b""
            text = response.read()
        except BaseException:
            connection.close()
            raise
        if response.will_close or lines:  # Whoever hangs up must reach no other request.
            connection.close()
        else:
            self._connections.give(connection)
        return response, text


def _response(
    connection: http.client.HTTPConnection, method: str, target: str, data: bytes | None, headers: dict[str, str]
) -> http.client.HTTPResponse:
    """A refusal may come before all of the body is sent: then the other side reads no more, and hangs up."""
    try:
        connection.request(method, target, body=data, headers=headers)
    except (BrokenPipeError, ConnectionResetError) as error:
        try:
            response = connection.getresponse()
        except Exception:
            raise error from None
        response.will_close = True
        return response
    return connection.getresponse()


def _check(target: str, headers: dict[str, str]) -> None:
    """What can never be sent is no failure that passes."""
    if not re.fullmatch(r"[\x21-\x7e]+", target):
        raise ValueError("the path of the request has a character that must be escaped")
    for name, value in headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name):
            raise ValueError("a header has a name that no header may have")
        if not isinstance(value, str) or not re.fullmatch(r"[\t\x20-\x7e\xa0-\xff]*", value):
            raise ValueError(f"the header {name} has a character that no header may have")


def _read(method: str, path: str, response: http.client.HTTPResponse, text: bytes) -> Any:
    if not text:
        return None
    kind = response.getheader("content-type") or "json"
    try:
        if "json" in kind:
            return json.loads(text)
        if "openmetrics" in kind or "plain" in kind:
            return text.decode()
    except (ValueError, RecursionError):
        pass  # It quotes the answer, and that may quote the key.
    raise ConnectionFailed(f"the answer of {method} {path} is no JSON")


def _text(value: Any) -> str:
    """In a query, Dibs takes no exponent."""
    if isinstance(value, float):
        return f"{value:.3f}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wait(body: Any, query: dict[str, Any] | None, headers: dict[str, str]) -> float:
    """The seconds for which the request asks Dibs to hold it: 60 at most."""
    in_body = body.get("wait_seconds") if isinstance(body, dict) else None
    preferred = re.search(r"\bwait=(\d+)", headers.get("Prefer", ""))
    asked = in_body or (query or {}).get("wait_seconds") or (preferred[1] if preferred else 0)
    try:
        return min(60.0, max(0.0, float(asked)))
    except (TypeError, ValueError, OverflowError):
        return 0.0


__all__ = ["Client", "ConnectionFailed", "DibsError"]
