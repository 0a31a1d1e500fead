"""What an exception says of itself, and of its causes. Nothing here raises, whatever the exception is."""

from __future__ import annotations

import re
import traceback

MOST = 16_384
_MOST_CAUSES = 8
_MOST_OF_A_CAUSE = 1000
_MOST_FRAMES = 50


def said(error: BaseException) -> str:
    """Its line, then its stack: what is kept is cut at the end."""
    try:
        stack = "".join(traceback.format_tb(error.__traceback__, -_MOST_FRAMES))
    except BaseException:
        stack = ""
    return cut(f"{line(error)}\n{stack}", MOST)


def line(error: BaseException) -> str:
    """The error and its causes, from the outside in."""
    return with_causes(_named(error, message_of(error)), error, _causes_of(error))


def with_causes(text: str, error: BaseException, causes: list[BaseException]) -> str:
    """The text, and what it does not say yet of the causes."""
    text = cut(text, MOST // 4)
    inner = _told(text, causes, {id(error)})
    return f"{text}: {inner}" if inner else text


def _told(outer: str, causes: list[BaseException], seen: set[int]) -> str:
    parts: list[str] = []
    for cause in causes:
        if id(cause) in seen or len(seen) > _MOST_CAUSES:
            continue
        seen.add(id(cause))
        message = cut(message_of(cause), _MOST_OF_A_CAUSE)
        own = _named(cause, message)
        is_said = re.search(rf"(?<!\w){re.escape(message)}(?!\w)", outer) if message else False
        deeper = _told(f"{outer} {own}", _causes_of(cause), seen)
        parts += [": ".join(part for part in ("" if is_said else own, deeper) if part)]
    return "; ".join(part for part in parts if part)


def _named(error: BaseException, message: str) -> str:
    try:
        name = str(type(error).__name__)
    except BaseException:
        name = "an error without a name"
    return f"{name}: {message}" if message else name


def message_of(error: BaseException) -> str:
    try:
        notes = getattr(error, "__notes__", [])
        return "\n".join([str(error), *(str(note) for note in notes)])
    except BaseException:
        return "a value that has no text"


def _causes_of(error: BaseException) -> list[BaseException]:
    """The members of a group first."""
    try:
        members = error.exceptions if isinstance(error, BaseExceptionGroup) else ()
        outer = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        return [one for one in [*members, outer] if isinstance(one, BaseException)]
    except BaseException:
        return []


def cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
