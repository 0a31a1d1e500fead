"""The access key of a client."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from typing import Any

from .causes import line
from .errors import ConnectionFailed
from .threads import thread
from .times import wait

KeyFunction = Callable[[], "str | None"]
#: So many calls of a key function may hang before it is asked no more.
_MOST_HANGING = 32


class Key:
    """A text, a function that is asked before each request, or a file that is read again when its key is refused."""

    def __init__(self, given: str | KeyFunction | None, file: str | None) -> None:
        if given and file:
            raise ValueError("give key or key_file, not both")
        self._file = file or None
        self._function = given if callable(given) else None
        self._text = _in_file(file) if file else None if callable(given) else _sendable(given)
        #: The calls that hang, each with its process: a fork does not copy them.
        self._hanging: list[tuple[int, threading.Event]] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_hanging": []}

    def read(self, limit: float) -> str | None:
        """Raises ConnectionFailed when the function fails, or takes longer."""
        return self._ask(self._function, limit) if self._function else self._text

    def is_renewed(self, refused: str | None) -> bool:
        """Whether the file has another key than this one, which was refused. While the file is replaced, it has none."""
        if self._file is None:
            return False
        try:
            self._text = _in_file(self._file)
        except ValueError:
            return False
        return self._text != refused

    def _ask(self, function: KeyFunction, limit: float) -> str | None:
        process = os.getpid()
        self._hanging = [one for one in self._hanging if one[0] == process and not one[1].is_set()]
        if len(self._hanging) >= _MOST_HANGING:
            raise ConnectionFailed(f"{_MOST_HANGING} calls of the key function have not returned")
        over = threading.Event()
        answers: list[str | None] = []
        failures: list[BaseException] = []

        def act() -> None:
            try:
                answers.append(_sendable(function()))
            except BaseException as error:
                failures.append(error)
            over.set()

        try:
            thread(act).start()
        except RuntimeError as error:
            raise ConnectionFailed(f"the key function got no thread: {error}") from error
        if not wait(over, limit):
            self._hanging.append((process, over))
            raise ConnectionFailed(f"the key function has not returned within {limit:g} s")
        if failures:
            raise ConnectionFailed(f"the key function failed: {line(failures[0])}") from failures[0]
        return answers[0]


def _in_file(file: str) -> str:
    """Raises ValueError. No error shows what is in the file."""
    try:
        with open(file, encoding="latin-1") as opened:
            key = _sendable(opened.read())
    except OSError as error:
        raise ValueError(f"the key file cannot be read: {error}") from None
    if key is None:
        raise ValueError(f"the key file {file} is empty")
    return key


def _sendable(given: str | None) -> str | None:
    """White space around it is no part of a key: the line break of its file."""
    if given is not None and not isinstance(given, str):
        raise ValueError("the access key must be a text")
    key = (given or "").strip()
    if not re.fullmatch(r"[\x21-\x7e]*", key):
        raise ValueError("the access key has a character that no key has, such as a line break or a space")
    return key or None
