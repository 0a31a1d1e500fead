"""`last_error` tells an error, its causes, and where it was raised."""

import unittest

from dibs_client import Nack
from dibs_client.causes import MOST, line, said
from dibs_client.job import as_outcome, settlement
from odd_ends import Exits, Textless


def raised(act) -> BaseException:
    try:
        act()
    except BaseException as error:
        return error
    raise AssertionError


def chain(*texts: str) -> BaseException:
    error = inner = RuntimeError(texts[0])
    for text in texts[1:]:
        inner.__cause__ = ValueError(text)
        inner = inner.__cause__
    return error


class CausesTest(unittest.TestCase):
    def test_a_cause_is_told_with_its_name(self):
        self.assertEqual(line(chain("no order", "no row", "no table")), "RuntimeError: no order: ValueError: no row: ValueError: no table")

    def test_what_was_handled_meanwhile_is_a_cause_too(self):
        def act():
            try:
                {}["the root"]
            except KeyError:
                raise RuntimeError("no order")

        self.assertEqual(line(raised(act)), "RuntimeError: no order: KeyError: 'the root'")

    def test_a_cause_that_was_turned_off_is_not_told(self):
        def act():
            try:
                {}["the root"]
            except KeyError:
                raise RuntimeError("no order") from None

        self.assertEqual(line(raised(act)), "RuntimeError: no order")

    def test_a_cause_that_is_said_already_is_not_said_again(self):
        self.assertEqual(line(chain("no order: no row", "no row", "no table")), "RuntimeError: no order: no row: ValueError: no table")

    def test_the_members_of_a_group_stand_side_by_side(self):
        inner = ExceptionGroup("inner", [KeyError("c")])
        group = ExceptionGroup("several", [ValueError("a"), TypeError("b"), inner])
        self.assertEqual(
            line(group),
            "ExceptionGroup: several (3 sub-exceptions): ValueError: a; TypeError: b; "
            "ExceptionGroup: inner (1 sub-exception): KeyError: 'c'",
        )

    def test_circles_end(self):
        one, two = RuntimeError("one"), RuntimeError("two")
        one.__cause__, two.__cause__ = two, one
        self.assertEqual(line(one), "RuntimeError: one: RuntimeError: two")
        one.__cause__ = one
        self.assertEqual(line(one), "RuntimeError: one")
        group = ExceptionGroup("group", [two])
        two.__cause__ = group
        self.assertEqual(line(group), "ExceptionGroup: group (1 sub-exception): RuntimeError: two")

    def test_eight_causes_are_told_each_with_a_thousand_characters(self):
        text = line(chain("top", *(f"cause {i};" for i in range(5000))))
        self.assertIn("cause 7;", text)
        self.assertNotIn("cause 8;", text)
        text = line(ExceptionGroup("many", [ValueError(f"cause {i};") for i in range(5000)]))
        self.assertIn("cause 7;", text)
        self.assertNotIn("cause 8;", text)
        text = said(chain("t" * 10**6, "x" * 10**6, "the root"))
        self.assertIn("the root", text)
        self.assertLessEqual(len(text), MOST)
        self.assertIn("…", text)

    def test_a_cause_without_a_text_is_told_as_such(self):
        self.assertEqual(line(Textless()), "Textless: a value that has no text")
        error = RuntimeError("top")
        error.__cause__ = Exits()
        self.assertEqual(line(error), "RuntimeError: top: Exits: a value that has no text")
        self.assertEqual(line(ValueError()), "ValueError")

    def test_notes_are_told(self):
        error = ValueError("no order")
        error.add_note("of tenant acme")
        self.assertEqual(line(error), "ValueError: no order\nof tenant acme")
        error.__notes__ = 5  # type: ignore[assignment]
        self.assertIn("ValueError", line(error))

    def test_the_stack_stays_and_a_deep_one_is_cut(self):
        def deep(n):
            return other(n)

        def other(n):
            if n == 0:
                raise ValueError("at the bottom")
            deep(n - 1)

        text = said(raised(lambda: deep(200)))
        self.assertTrue(text.startswith("ValueError: at the bottom\n"))
        self.assertIn("in other", text)
        self.assertLessEqual(len(text), MOST)

    def test_a_nack_tells_the_cause_that_it_was_raised_from_and_no_other(self):
        def act(is_explicit):
            try:
                {}["the root"]
            except KeyError as error:
                raise Nack("no such customer") from (error if is_explicit else None)

        for is_explicit in (True, False):
            *_, text = settlement({"id": "1", "lease_token": "t"}, as_outcome(raised(lambda: act(is_explicit))))
            self.assertIn("no such customer", text)
            self.assertEqual("the root" in text, is_explicit)


if __name__ == "__main__":
    unittest.main()
