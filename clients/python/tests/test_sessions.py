"""A worker holds a session. Whatever becomes of it, the worker goes on."""

import asyncio
import contextlib
import json
import math
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from unittest import mock

from support import page, problem, serving, sockets_of, until, working

from dibs_client import AsyncWorker, Client, DibsError, Job, Producer, Worker
from dibs_client.lines import Lines
from dibs_client.run import Run
from dibs_client.testing import FakeDibs

CUT = object()


def once(line, every=0.05):
    """The lines of a session that is held for as long as the client holds it."""
    yield line
    while True:
        yield every
        yield {}


def cut_after_a_while(answers_after):
    """The first connection is cut after 0.6 s. The next one takes so many seconds to answer."""

    def play(_body, count):
        if count == 1:
            yield {"session": "one"}
            yield from [0.05, {}] * 12
            yield CUT
        yield answers_after
        yield from once({"session": "one"})

    return play


class Dibs:
    """FakeDibs behind HTTP, with sessions. `play(body, count)` gives what becomes of the POST /sessions of this number, step by step:
    a line, a pause in seconds, HEAD (the head of the answer goes), CUT, or a refusal. Default: each session is held.
    """

    HEAD = object()

    def __init__(self):
        self.fake = FakeDibs()
        self.producer = Producer(self.fake.client, queue="mail")
        self.play = lambda body, count: once({"session": body.get("session", f"session-{count}")})
        #: The sessions that claims may not name.
        self.ended = set()
        #: What happens to requests for jobs: `harm(path, body)` is a refusal, CUT, or None.
        self.harm = lambda path, body: None
        self.version = "HTTP/1.1"
        #: What came, as (kind, body), and when.
        self.log = []
        self.times = []
        self.keys = []

    def note(self, kind, body=None):
        self.log.append((kind, body))
        self.times.append(time.monotonic())

    def all(self, kind):
        return [body for one, body in self.log if one == kind]

    def named(self):
        """The session that each claim named, by itself or in a settlement."""
        return [claim.get("session") for claim in self.all("claim")]

    def when(self, kind, number=0):
        return [at for at, (one, _) in zip(self.times, self.log) if one == kind][number]

    def hold(self, handler, body):
        self.note("session", body)
        is_begun = False
        for step in self.play(body, len(self.all("session"))):
            if isinstance(step, tuple):
                return self.send(handler, step)
            if step is CUT:
                handler.close_connection = True
                return handler.connection.shutdown(socket.SHUT_RDWR)
            if isinstance(step, (int, float)):
                if select.select([handler.connection], [], [], step)[0]:
                    return self.note("hung up")
                continue
            if not is_begun:
                is_begun = True
                handler.send_response(200)
                handler.send_header("content-type", "application/x-ndjson")
                if self.version == "HTTP/1.1":
                    handler.send_header("transfer-encoding", "chunked")
                handler.end_headers()
            if step is not self.HEAD:
                text = json.dumps(step).encode() + b"\n"
                handler.wfile.write(text if self.version == "HTTP/1.0" else b"%x\r\n%s\r\n" % (len(text), text))
                handler.wfile.flush()
        if self.version == "HTTP/1.1":
            handler.wfile.write(b"0\r\n\r\n")

    def send(self, handler, answer):
        status, headers, text = answer
        handler.send_response(status)
        for name, value in {"content-length": str(len(text.encode())), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(text.encode())

    def work(self, handler, path, body):
        claim = body if path == "/jobs/claim" else body.get("claim")
        if claim:
            self.note("claim", claim)
        is_ended = claim is not None and claim.get("session") in self.ended
        if path != "/jobs/claim":
            kind = "extend" if "extend" in path or body.get("extends") else "settle"
            self.note(kind, body)
        harmed = self.harm(path, body)
        if harmed is CUT:
            handler.close_connection = True
            return handler.connection.shutdown(socket.SHUT_RDWR)
        if harmed:
            return self.send(handler, harmed)
        if is_ended and path == "/jobs/claim":
            return self.send(handler, problem(404, "session_not_found"))
        if is_ended:
            body = {name: items for name, items in body.items() if name != "claim"}
        answer = self.fake._answer("POST", path, body, 0)
        if is_ended:
            answer["problem"] = json.loads(problem(404, "session_not_found")[2])
        self.send(handler, (200, {"content-type": "application/json"}, json.dumps(answer)))

    @contextlib.contextmanager
    def listening(self):
        """Yields its URL."""

        class Handler(BaseHTTPRequestHandler):
            protocol_version = self.version
            dibs = self

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                self.dibs.keys.append(self.headers["authorization"])
                if self.path == "/sessions":
                    self.dibs.hold(self, body)
                else:
                    self.dibs.work(self, self.path, body)

            def log_message(self, *_):
                pass

        with serving(Handler) as url:
            yield url


def patient(**constants):
    """Other times than those of a real worker."""
    return mock.patch.multiple("dibs_client.session", **constants)


class SessionTest(unittest.TestCase):
    def setUp(self):
        self.gate = threading.Event()
        #: How many handlers.
        self.begun = 0
        self.addCleanup(self.gate.set)
        self.begin()

    def begin(self, version="HTTP/1.1"):
        """With another Dibs."""
        self.dibs = Dibs()
        self.dibs.version = version
        self.events = []
        stack = contextlib.ExitStack()
        self.url = stack.enter_context(self.dibs.listening())
        self.addCleanup(stack.close)

    def working(self, handler=lambda job: None, **options):
        options = {"observe": self.events.append, "wait_seconds": 0.1, **options}
        return working(Client(self.url), handler, **options)

    def blocked(self, job: Job):
        """A handler that ends when the test lets it, or by its signal."""
        self.begun += 1
        while not self.gate.is_set():
            job.sleep(0.01)

    def works_on(self, count=1):
        """Lets jobs run through."""
        done = len([job for job in self.dibs.fake.jobs if job.state == "completed"])
        for _ in range(count):
            self.dibs.producer.enqueue({})
            until(lambda: self.dibs.fake.jobs[-1].state == "completed")
        self.assertEqual(len([job for job in self.dibs.fake.jobs if job.state == "completed"]), done + count)

    def assert_nothing_told(self):
        self.assertEqual([event for event in self.events if event["type"] in ("retrying", "refused")], [])

    # ---- Held

    def test_a_worker_holds_a_session_and_each_claim_names_it(self):
        with self.working():
            self.works_on(3)
        self.assertEqual(self.dibs.all("session"), [{"resume_seconds": 5}])
        self.assertEqual(set(self.dibs.named()), {"session-1"})

    def test_the_claims_that_settlements_carry_name_it_too(self):
        with self.working(concurrency=1):
            self.works_on(3)
            until(lambda: any("claim" in body for body in self.dibs.all("settle")))
        for body in self.dibs.all("settle"):
            self.assertEqual(body.get("claim", {}).get("session", "session-1"), "session-1")

    def test_the_asyncio_worker_holds_one_too_and_hangs_up(self):
        async def handler(job: Job) -> None:
            worker.stop()

        self.dibs.producer.enqueue({})
        worker = AsyncWorker(Client(self.url), ["mail"], handler, resume_seconds=7)
        asyncio.run(worker.run())
        self.assertEqual(self.dibs.all("session"), [{"resume_seconds": 7}])
        self.assertEqual(set(self.dibs.named()), {"session-1"})
        until(lambda: self.dibs.all("hung up"))

    def test_the_first_claim_waits_for_the_first_line(self):
        def play(body, count):
            yield 0.4
            yield from once({"session": "late"})

        self.dibs.play = play
        with patient(CLAIMS_WAIT=60), self.working():
            self.works_on()
        self.assertEqual(set(self.dibs.named()), {"late"})

    def test_the_first_claim_waits_a_second_and_no_longer(self):
        self.dibs.play = lambda body, count: [60]
        began = time.monotonic()
        with patient(PATIENCE=60), self.working():
            self.works_on()
        self.assertEqual(set(self.dibs.named()), {None})
        self.assertGreater(self.dibs.when("claim") - began, 0.95)

    def test_no_session_is_asked_for_without_one_and_no_claim_waits_for_it(self):
        with patient(CLAIMS_WAIT=60), self.working(session=False):
            self.works_on()
        self.assertEqual(self.dibs.all("session"), [])
        self.assertEqual(set(self.dibs.named()), {None})

    def test_wrong_settings_are_refused(self):
        for wrong in (-1, 60.1, math.nan, math.inf, "5", None, 10**400):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "resume_seconds"):
                Worker(Client(self.url), ["mail"], lambda job: None, resume_seconds=wrong)
        for wrong in (None, 1, "session-1"):
            with self.subTest(wrong), self.assertRaisesRegex(ValueError, "session"):
                Worker(Client(self.url), ["mail"], lambda job: None, session=wrong)
        for right in (0, 60, 0.5):
            Worker(Client(self.url), ["mail"], lambda job: None, resume_seconds=right)

    # ---- Lost, and resumed

    def test_a_cut_connection_is_resumed_at_once_and_claims_go_on_naming_it(self):
        def play(body, count):
            if count > 1:
                return once({"session": body["session"]})
            return iter([{"session": "one"}, 0.2, {}, CUT])

        self.dibs.play = play
        with self.working():
            until(lambda: len(self.dibs.all("session")) == 2)
            self.works_on(2)
        self.assertEqual(self.dibs.all("session"), [{"resume_seconds": 5}, {"resume_seconds": 5, "session": "one"}])
        # After a rest it would be a minute.
        self.assertLess(self.dibs.when("session", 1) - self.dibs.when("session"), 5)
        self.assertEqual(self.dibs.named()[-1], "one")
        self.assert_nothing_told()

    def test_an_answer_that_ends_with_its_connection_is_one_too(self):
        """HTTP/1.0, as some proxies speak it."""
        self.begin("HTTP/1.0")
        with self.working():
            self.works_on()
        self.assertEqual(self.dibs.all("session"), [{"resume_seconds": 5}])
        self.assertEqual(set(self.dibs.named()), {"session-1"})
        until(lambda: self.dibs.all("hung up"))

    def test_a_replica_that_stops_is_no_end_of_a_session(self):
        def play(body, count):
            return once({"session": "one"}) if count > 1 else iter([{"session": "one"}, {}, {"lost": "stopping"}])

        self.dibs.play = play
        with self.working():
            until(lambda: len(self.dibs.all("session")) == 2)
        self.assertEqual(self.dibs.all("session")[1]["session"], "one")

    def test_silence_is_a_lost_connection(self):
        def play(body, count):
            return once({"session": "one"}) if count > 1 else iter([{"session": "one"}, {}, 5])

        self.dibs.play = play
        with patient(SILENCE=2), self.working():
            until(lambda: len(self.dibs.all("session")) == 2)
            time.sleep(2.5)
        self.assertEqual(self.dibs.all("session")[1:], [{"resume_seconds": 5, "session": "one"}])
        self.assertGreater(self.dibs.when("session", 1) - self.dibs.when("session"), 1.95)

    def test_claims_wait_a_moment_while_a_session_that_lasted_is_resumed(self):
        self.dibs.play = cut_after_a_while(answers_after=0.5)
        with patient(LASTING=0.4, CLAIMS_WAIT=60), self.working():
            until(lambda: len(self.dibs.all("session")) == 2)
            self.works_on(3)
        self.assertEqual(set(self.dibs.named()), {"one"})

    def test_claims_do_not_wait_for_a_session_that_did_not_last(self):
        self.dibs.play = cut_after_a_while(answers_after=60)
        with patient(CLAIMS_WAIT=60, PATIENCE=60, LASTING=60), self.working():
            until(lambda: len(self.dibs.all("session")) == 2)
            until(lambda: None in self.dibs.named())

    def test_claims_name_no_session_that_is_not_held(self):
        def play(body, count):
            return iter([{"session": "one"}, {}, CUT]) if count == 1 else iter([problem(503, "unavailable")])

        self.dibs.play = play
        with self.working():
            until(lambda: len(self.dibs.all("session")) >= 3)
            before = len(self.dibs.named())
            self.works_on()
            until(lambda: len(self.dibs.named()) > before + 2)
        self.assertEqual(set(self.dibs.named()[before + 1 :]), {None})
        self.assertEqual({body["session"] for body in self.dibs.all("session")[1:]}, {"one"})
        self.assert_nothing_told()

    def test_an_answer_that_ends_after_each_first_line_is_asked_for_now_and_then(self):
        self.dibs.play = lambda body, count: iter([{"session": "one"}])
        with self.working():
            time.sleep(1.5)
            until(lambda: len(self.dibs.all("session")) > 2)
            self.works_on()
        self.assertLess(len(self.dibs.all("session")), 25)

    # ---- Held back

    def test_a_first_line_that_is_held_back_keeps_no_claim_back_and_the_next_try_comes_after_a_rest(self):
        for steps in ([5], [Dibs.HEAD, 5]):
            self.begin()
            self.dibs.play = lambda body, count: iter(steps)
            with patient(PATIENCE=0.5, REST=2, CLAIMS_WAIT=0.1), self.working():
                until(lambda: len(self.dibs.all("session")) == 2)
                self.works_on()
            tries = self.dibs.all("session")
            self.assertEqual(tries, [{"resume_seconds": 5}] * len(tries))
            self.assertEqual(set(self.dibs.named()), {None})
            self.assertLess(self.dibs.when("claim"), self.dibs.when("session", 1))
            self.assertGreater(self.dibs.when("session", 1) - self.dibs.when("session"), 2.45)
            self.assert_nothing_told()

    def test_a_session_with_jobs_is_kept_also_where_lines_are_held_back(self):
        """Each try keeps it for `resume_seconds` more. Without jobs, it is given up."""

        def play(body, count):
            return iter([{"session": "one"}, 0.3, {}, CUT]) if count == 1 else iter([5])

        self.dibs.play = play
        self.dibs.producer.enqueue({})
        with patient(PATIENCE=0.2, REST=3), self.working(self.blocked, concurrency=1):
            until(lambda: len(self.dibs.all("session")) == 5)
            # Two rests would take 6 s.
            self.assertLess(self.dibs.when("session", 4) - self.dibs.when("session", 2), 5)
            self.gate.set()
            until(lambda: "session" not in self.dibs.all("session")[-1])
        self.assertEqual({body.get("session") for body in self.dibs.all("session")[1:5]}, {"one"})

    # ---- Ended

    def test_a_claim_of_a_session_that_has_ended_is_no_error_and_one_without_it_goes_at_once(self):
        with self.working():
            until(lambda: self.dibs.named())
            self.dibs.ended.add("session-1")
            until(lambda: len(self.dibs.all("session")) == 2)
            self.works_on(2)
            until(lambda: self.dibs.named()[-1] == "session-2")
        self.assertEqual(self.dibs.all("session"), [{"resume_seconds": 5}] * 2)
        refused = self.dibs.named().index("session-1") + self.dibs.named().count("session-1") - 1
        claims = self.dibs.all("claim")
        self.assertNotEqual(claims[refused + 1]["claim_id"], claims[refused]["claim_id"])
        self.assert_nothing_told()

    def test_a_settlement_counts_though_its_claim_names_a_session_that_has_ended(self):
        self.dibs.producer.enqueue({})
        with self.working(self.blocked, concurrency=2, wait_seconds=20):
            until(lambda: self.begun == 1)
            until(lambda: len(self.dibs.named()) == 2)
            self.dibs.ended.add("session-1")
            self.dibs.producer.enqueue({})
            until(lambda: self.begun == 2)
            self.gate.set()
            until(lambda: self.dibs.fake.jobs[0].state == self.dibs.fake.jobs[1].state == "completed")
            self.works_on()
            until(lambda: len(self.dibs.all("session")) == 2)
        self.assert_nothing_told()

    def assert_told_of_lost_leases(self):
        """The session has ended, and with it the lease of a job. Its handler hears of it long before a third of the lease."""
        self.dibs.producer.enqueue({})
        began = time.monotonic()
        with self.working(self.blocked, concurrency=1):
            until(lambda: self.begun == 1)
            self.dibs.fake.jobs[0].token = "of another worker"
            until(lambda: any(event["type"] == "signalled" for event in self.events))
            self.assertLess(time.monotonic() - began, 5)
            until(lambda: len(self.dibs.all("session")) >= 2 and "session" not in self.dibs.all("session")[-1])
        self.assertEqual([event["code"] for event in self.events if event["type"] == "signalled"], ["lease_lost"])
        self.assert_nothing_told()

    def test_a_session_that_dibs_could_not_renew_has_its_leases_extended_at_once(self):
        def play(body, count):
            return once({"session": "two"}) if count > 1 else iter([{"session": "one"}, 0.5, {}, {"lost": "session_ended"}])

        self.dibs.play = play
        self.assert_told_of_lost_leases()

    def test_a_session_that_cannot_be_resumed_has_its_leases_extended_at_once(self):
        def play(body, count):
            if count == 1:
                return iter([{"session": "one"}, 0.5, {}, CUT])
            return iter([problem(404, "session_not_found")]) if "session" in body else once({"session": "two"})

        self.dibs.play = play
        self.assert_told_of_lost_leases()

    def test_a_session_that_a_claim_says_has_ended_has_its_leases_extended_at_once(self):
        self.dibs.producer.enqueue({})
        with self.working(self.blocked, concurrency=2):
            until(lambda: self.begun == 1)
            self.dibs.ended.add("session-1")
            until(lambda: self.dibs.all("extend"))
            until(lambda: len(self.dibs.all("session")) == 2)
            self.gate.set()
            self.dibs.fake.wait_until_done()

    def test_a_job_whose_session_has_ended_before_its_claim_was_answered_begins_after_an_extend(self):
        is_cut = threading.Event()

        def play(body, count):
            if count > 1:
                return once({"session": "two"})
            return iter([{"session": "one"}, *[0.05, {}] * 6, {"lost": "session_ended"}])

        def harm(path, body):
            if path == "/jobs/claim" and body.get("session") == "one":
                until(lambda: len(self.dibs.all("session")) == 2)
                time.sleep(0.2)
            if "extends" in body:
                is_cut.set()

        def handler(job: Job):
            self.assertTrue(is_cut.is_set())

        self.dibs.play, self.dibs.harm = play, harm
        self.dibs.producer.enqueue({})
        with self.working(handler):
            self.dibs.fake.wait_until_done()
        self.assertEqual((self.dibs.named()[0], self.dibs.fake.jobs[0].state), ("one", "completed"))
        self.assertEqual(self.dibs.fake.jobs[0].attempt, 1)

    # ---- Refused

    def test_a_dibs_that_has_no_sessions_is_asked_now_and_then_and_the_worker_goes_on(self):
        refusals = (
            problem(404, "route_not_found"),
            problem(400, "invalid_request"),
            problem(403, "forbidden"),
            problem(401, "unauthorized"),
            problem(409, "too_many_sessions"),
        )
        for refusal in refusals:
            self.begin()
            self.dibs.play = lambda body, count: iter([refusal])
            with patient(CLAIMS_WAIT=60), self.subTest(refusal), self.working():
                self.works_on(2)
                time.sleep(0.3)
                self.assertEqual(self.dibs.all("session"), [{"resume_seconds": 5}])
                self.assertEqual(set(self.dibs.named()), {None})
            self.assert_nothing_told()

    def test_a_refused_session_is_tried_again_after_a_rest(self):
        def play(body, count):
            return once({"session": "one"}) if count > 1 else iter([problem(409, "too_many_sessions")])

        self.dibs.play = play
        with patient(REST=0.5), self.working():
            until(lambda: "one" in self.dibs.named())
        self.assertGreater(self.dibs.when("session", 1) - self.dibs.when("session"), 0.45)

    def test_a_session_whose_key_is_rotated_or_revoked_is_resumed(self):
        self.dibs.play = lambda body, count: iter([{"session": "session-1"}, 0.2, {}, {"lost": "revoked"}])
        with self.working():
            until(lambda: len(self.dibs.all("session")) == 2)
        self.assertEqual(self.dibs.all("session")[1].get("session"), "session-1")
        self.assert_nothing_told()

    def test_a_lease_whose_session_has_ended_is_extended_each_second(self):
        run = Run({"id": "1", "lease_seconds": 3600}, session="one", is_doubtful=False)
        run.doubt()
        self.assertEqual(run.due(), 0)
        now = time.monotonic()
        run.extended(now)
        run.is_in_doubt = False
        self.assertEqual(run.due(), now + 1)

    def test_what_is_no_session_is_a_failure_that_passes(self):
        answers = (
            page(502),
            page(200),
            problem(503, "overloaded"),
            (200, {}, ""),
            (204, {}, ""),
            (200, {}, "[]\n"),
            (200, {}, '{"session": 7}\n'),
            (200, {}, "{" * 100_000),
            (200, {}, '{"lost": "stopping"}\n'),
        )
        for answer in answers:
            self.begin()

            def play(body, count):
                return once({"session": "one"}) if count > 2 else iter([answer])

            self.dibs.play = play
            with self.subTest(answer), self.working():
                until(lambda: "one" in self.dibs.named())
            self.assert_nothing_told()

    def test_a_retry_after_is_waited_out(self):
        def play(body, count):
            if count > 1:
                return once({"session": "one"})
            status, headers, text = problem(503, "overloaded")
            return iter([(status, {**headers, "retry-after": "1"}, text)])

        self.dibs.play = play
        with self.working():
            until(lambda: "one" in self.dibs.named())
        self.assertGreater(self.dibs.when("session", 1) - self.dibs.when("session"), 0.95)

    # ---- Repeated claims

    def test_a_repeated_claim_names_the_session_that_it_named_first(self):
        def play(body, count):
            return iter([{"session": "one"}, 0.15, CUT]) if count == 1 else iter([problem(503, "unavailable")])

        self.dibs.play = play
        self.dibs.harm = lambda path, body: CUT if len(self.dibs.named()) < 6 else None
        with self.working():
            until(lambda: len(self.dibs.named()) > 7)
        repeated = self.dibs.all("claim")[:6]
        self.assertEqual(len({claim["claim_id"] for claim in repeated}), 1)
        self.assertEqual({claim["session"] for claim in repeated}, {"one"})
        self.assertEqual(self.dibs.named()[-1], None)

    def test_a_repeated_claim_that_named_none_names_none(self):
        def play(body, count):
            yield 3
            yield from once({"session": "one"})

        self.dibs.play = play
        self.dibs.harm = lambda path, body: CUT if len(self.dibs.named()) < 6 else None
        with patient(CLAIMS_WAIT=0.1), self.working():
            until(lambda: self.dibs.named()[-1:] == ["one"])
        repeated = self.dibs.all("claim")[:6]
        self.assertEqual(len({claim["claim_id"] for claim in repeated}), 1)
        self.assertEqual({claim.get("session") for claim in repeated}, {None})

    # ---- The end

    def test_a_worker_that_stops_hangs_up_at_once_after_its_last_settlement(self):
        self.dibs.play = lambda body, count: once({"session": "one"}, every=3)
        before = threading.active_count()
        self.dibs.producer.enqueue({})
        with self.working(self.blocked) as worker:
            until(lambda: self.begun == 1)
            worker.stop()
            time.sleep(0.3)
            self.assertEqual(self.dibs.all("hung up"), [])
            self.gate.set()
            self.dibs.fake.wait_until_done()
            until(lambda: self.dibs.all("hung up"))
        kinds = [kind for kind, _ in self.dibs.log]
        self.assertLess(kinds.index("settle"), kinds.index("hung up"))
        self.assertEqual(len(self.dibs.all("session")), 1)
        # Those of the server, too.
        until(lambda: threading.active_count() <= before + 2)
        self.assertNotIn("act", {thread.name for thread in threading.enumerate()})

    def test_a_session_is_resumed_while_a_worker_stops(self):
        def play(body, count):
            return once({"session": "one"}) if count > 1 else iter([{"session": "one"}, 0.3, {}, CUT])

        self.dibs.play = play
        self.dibs.producer.enqueue({})
        with self.working(self.blocked) as worker:
            until(lambda: self.begun == 1)
            worker.stop()
            until(lambda: len(self.dibs.all("session")) == 2)
            self.gate.set()
        until(lambda: self.dibs.all("hung up"))

    def test_a_worker_that_is_stopped_before_it_runs_opens_none(self):
        worker = Worker(Client(self.url), ["mail"], lambda job: None)
        worker.stop()
        worker.run()
        time.sleep(0.1)
        self.assertEqual(self.dibs.log, [])

    def test_a_worker_that_ends_while_its_session_is_opened_hangs_up(self):
        self.dibs.play = lambda body, count: iter([Dibs.HEAD, 5])
        with patient(CLAIMS_WAIT=0.05), self.working():
            until(lambda: self.dibs.named())
        until(lambda: self.dibs.all("hung up"))

    def test_a_worker_that_is_refused_for_good_hangs_up(self):
        self.dibs.harm = lambda path, body: problem(403, "forbidden")
        with self.assertRaisesRegex(DibsError, "forbidden"):
            Worker(Client(self.url), ["mail"], lambda job: None).run()
        until(lambda: self.dibs.all("hung up"))

    def test_a_process_ends_though_a_session_is_held(self):
        script = """
import sys, threading, time
from dibs_client import Client, Worker
worker = Worker(Client(sys.argv[1]), ["mail"], lambda job: None)
threading.Thread(target=worker.run, daemon=True).start()
while not worker._is_held:
    time.sleep(0.01)
"""
        source = str(Path(__file__).parent.parent / "src")
        ended = subprocess.run([sys.executable, "-c", script, self.url], env={**os.environ, "PYTHONPATH": source}, timeout=30)
        self.assertEqual(ended.returncode, 0)
        until(lambda: self.dibs.all("hung up"))

    # ---- Forks, keys, fakes

    def test_a_forked_child_holds_no_copy_of_it(self):
        """Else Dibs would not see that the worker was killed."""
        for version in ("HTTP/1.1", "HTTP/1.0"):
            self.begin(version)
            with self.subTest(version), self.working(wait_seconds=20) as worker:
                until(lambda: worker._is_held)
                time.sleep(0.2)
                child = os.fork()
                if child == 0:
                    time.sleep(30)
                    os._exit(0)
                try:
                    assert worker._lines and worker._lines._socket
                    kept = f"socket:[{os.fstat(worker._lines._socket.fileno()).st_ino}]"
                    until(lambda: kept not in sockets_of(child))
                finally:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)

    def test_a_key_file_is_read_again_when_its_key_is_refused(self):
        def play(body, count):
            is_right = self.dibs.keys[-1] == "Bearer new-key"
            return once({"session": "one"}) if is_right else iter([problem(401, "unauthorized")])

        with tempfile.NamedTemporaryFile("w") as file:
            file.write("old-key")
            file.flush()
            client = Client(self.url, key_file=file.name)
            Path(file.name).write_text("new-key\n")
            self.dibs.play = play
            with working(client, lambda job: None, wait_seconds=0.1):
                until(lambda: self.dibs.named())
        self.assertEqual(self.dibs.named()[0], "one")
        self.assertEqual(len(self.dibs.all("session")), 2)

    def test_a_key_function_is_asked_before_each_try(self):
        keys = iter(range(1, 100))

        def play(body, count):
            return once({"session": "one"}) if count > 2 else iter([problem(503, "unavailable")])

        self.dibs.play = play
        with working(Client(self.url, key=lambda: f"key-{next(keys)}"), lambda job: None, wait_seconds=0.1):
            until(lambda: "one" in self.dibs.named())
        self.assertEqual(len(set(self.dibs.keys)), len(self.dibs.keys))

    def test_a_key_function_that_fails_or_hangs_ends_no_worker_and_is_told_as_ever(self):
        def fails() -> str:
            raise RuntimeError("no token")

        for function in (fails, lambda: self.gate.wait() and "key"):
            self.gate.clear()
            client = Client(self.url, key=function, timeout=0.2)
            with patient(PATIENCE=0.2), working(client, lambda job: None, wait_seconds=0.1) as worker:
                time.sleep(0.5)
                self.assertEqual(worker._phase, "running")
                self.gate.set()

    def test_no_error_of_it_shows_the_key(self):
        key = "top-secret-key"

        class Broken(Lines):
            def connect(self, connection):
                raise OSError(f"sent {key}")

        answers = (page(500, f"you sent {key}"), problem(403, "forbidden", detail=f"{key} may not"))
        attempts = [Broken(5)]
        with contextlib.ExitStack() as stack:
            for answer in answers:
                self.dibs.play = lambda body, count: iter([answer])
                attempts.append(Lines(5))
                with self.assertRaises(Exception) as caught:
                    Client(self.url, key=key).hold("/sessions", {}, attempts[-1])
                self.assertNotIn(key, repr(caught.exception) + str(caught.exception) + repr(caught.exception.__context__))
            with self.assertRaises(Exception) as caught:
                Client(self.url, key=key).hold("/sessions", {}, attempts[0])
            self.assertNotIn(key, str(caught.exception) + repr(caught.exception.__cause__) + repr(caught.exception.__context__))
            for lines in attempts:
                stack.callback(lines.close)

    def test_a_fake_has_none_and_keeps_no_claim_waiting(self):
        fake = FakeDibs()
        Producer(fake.client, queue="mail").enqueue({})
        with patient(CLAIMS_WAIT=60), working(fake.client, lambda job: None):
            fake.wait_until_done()
        with self.assertRaisesRegex(DibsError, "route_not_found"):
            fake.client.hold("/sessions", {}, Lines(5))

    def test_nothing_of_it_is_logged(self):
        self.dibs.play = lambda body, count: iter([problem(500, "internal")])
        with self.assertNoLogs("dibs_client"), self.working():
            until(lambda: len(self.dibs.all("session")) > 3)
        self.assertEqual({event["type"] for event in self.events} - {"stopping", "stopped"}, set())


if __name__ == "__main__":
    unittest.main()
