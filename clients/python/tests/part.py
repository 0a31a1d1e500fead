"""Runs a part of the unit tests: `part.py PART PARTS FILE...` runs every test of the files whose number, by PARTS, leaves PART.

Most of the time the tests wait. So their parts may run side by side, each in a process of its own.
"""

import sys
import unittest
from collections.abc import Iterator


def tests_in(suite: unittest.TestSuite | unittest.TestCase) -> Iterator[unittest.TestCase]:
    if isinstance(suite, unittest.TestCase):
        yield suite
    else:
        for one in suite:
            yield from tests_in(one)


def main() -> None:
    part, parts = map(int, sys.argv[1:3])
    names = [file.removesuffix(".py") for file in sys.argv[3:]]
    tests = list(tests_in(unittest.defaultTestLoader.loadTestsFromNames(names)))
    result = unittest.TextTestRunner().run(unittest.TestSuite(tests[part::parts]))
    sys.exit(not result.wasSuccessful())


if __name__ == "__main__":
    main()
