"""The odd ends of a handler: what Python allows, and nobody would write. Each is a failure of the job."""

import asyncio
import math
import os
import sys
from collections.abc import Callable
from typing import Any

from dibs_client import Nack


def raises(error: Any) -> Callable[[], Any]:
    def act() -> None:
        raise error

    return act


class Textless(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")

    __repr__ = __str__


class Exits(Exception):
    def __str__(self) -> str:
        sys.exit("in the text")


class Nameless(type):
    @property
    def __name__(cls) -> str:  # type: ignore[override]
        raise RuntimeError("no name")


class Unnamed(Exception, metaclass=Nameless):
    pass


class Mute(Exception):
    """It answers no question at all."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


class MuteNack(Nack):
    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")


class MuteResult:
    def __getattribute__(self, name: str) -> Any:
        sys.exit(f"no {name}")


class CauselessGroup(ExceptionGroup):
    exceptions = property(lambda self: 1 / 0)  # type: ignore[assignment]
    __cause__ = property(lambda self: 1 / 0)  # type: ignore[assignment]


class Unwritable(dict):
    """What exits while it is written."""

    def __bool__(self) -> bool:
        return True

    def items(self) -> Any:
        sys.exit("while it is written")


def circle() -> Any:
    result: list[Any] = []
    result.append(result)
    return result


def deep() -> Any:
    result: list[Any] = []
    for _ in range(100_000):
        result = [result]
    return result


def group() -> None:
    raise BaseExceptionGroup("several", [SystemExit(1), KeyboardInterrupt(), Textless()])


def in_a_child() -> None:
    """The child ends as a program does; the parent fails."""
    child = os.fork()
    if child == 0:
        sys.exit(3)
    _, status = os.waitpid(child, 0)
    raise RuntimeError(f"the child ended with {os.waitstatus_to_exitcode(status)}")


def left_by_a_child() -> None:
    child = os.fork()
    if child == 0:
        return
    _, status = os.waitpid(child, 0)
    raise RuntimeError(f"the child ended with {os.waitstatus_to_exitcode(status)}")


ODD_ENDS: dict[str, Callable[[], Any]] = {
    "sys.exit()": lambda: sys.exit("no configuration"),
    "sys.exit(0)": lambda: sys.exit(0),
    "KeyboardInterrupt": raises(KeyboardInterrupt()),
    "BaseException": raises(BaseException()),
    "GeneratorExit": raises(GeneratorExit()),
    "CancelledError": raises(asyncio.CancelledError()),
    "StopIteration": lambda: next(iter([])),
    "StopAsyncIteration": raises(StopAsyncIteration()),
    "an error whose text throws": raises(Textless()),
    "an error whose text exits": raises(Exits()),
    "an error whose name throws": raises(Unnamed("x")),
    "an error that answers no question": raises(Mute()),
    "a nack that answers no question": raises(MuteNack("x", retry=False)),
    "a group that has no members": raises(CauselessGroup("several", [ValueError()])),
    "a class that is no error": raises(int),
    "a group": group,
    "too deep": lambda: (f := lambda: f())(),
    "a result that is a circle": circle,
    "a result that is too deep": deep,
    "a result that is no JSON": lambda: object(),
    "a result with a NaN": lambda: {"a": math.nan},
    "a result that answers no question": lambda: MuteResult(),
    "a result that exits": lambda: Unwritable(a=1),
    "an exit in a forked child": in_a_child,
    "a return in a forked child": left_by_a_child,
}


async def inner_cancelled() -> None:
    inner = asyncio.ensure_future(asyncio.sleep(10))
    inner.cancel()
    await inner


async def cancels_itself() -> None:
    task = asyncio.current_task()
    assert task
    task.cancel()
    await asyncio.sleep(0)


async def cancels_itself_at_the_end() -> None:
    task = asyncio.current_task()
    assert task
    task.cancel()
    raise RuntimeError("after a cancel that has not arrived")


async def forks() -> None:
    in_a_child()


ASYNC_ODD_ENDS: dict[str, Callable[[], Any]] = {
    "an inner task that is cancelled": inner_cancelled,
    "a task that cancels itself": cancels_itself,
    "a task that cancels itself, and fails": cancels_itself_at_the_end,
    "an exit in a child of a coroutine": forks,
}
