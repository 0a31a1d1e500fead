"""Which failures pass (docs/workers.md), what a client refuses, times, and secrets."""

import contextlib
import json
import math
import socket
import threading
import time
import traceback
import unittest
from unittest import mock

from support import answering, page, problem

from dibs_client import Client, ConnectionFailed, DibsError, JobSignal, Producer, Worker
from dibs_client.errors import passes
from dibs_client.testing import fake_job
from dibs_client.times import seconds, socket_timeout, wait

KEY = "dibs_00000000000000000000000000000001_topsecret"


def decisions(error: BaseException) -> tuple[bool, ...]:
    return tuple(passes(error, request) for request in ("claim", "settle", "enqueue"))  # type: ignore[arg-type]


def failure_of(act) -> BaseException:
    try:
        act()
    except Exception as error:
        return error
    raise AssertionError("it has not failed")


def chain_of(error: BaseException | None) -> str:
    """All that is said, and all that hangs on it."""
    if error is None:
        return ""
    own = "".join(traceback.format_exception(error)) + repr(error) + repr(vars(error)) + repr(getattr(error, "doc", ""))
    return own + chain_of(error.__cause__) + chain_of(error.__context__)


@contextlib.contextmanager
def answering_early(answer):
    """A server that reads the head of a request and not its body. Yields its URL."""
    server = socket.create_server(("127.0.0.1", 0))

    def serve():
        connection, _ = server.accept()
        with connection:
            while b"\r\n\r\n" not in connection.recv(10_000, socket.MSG_PEEK):
                pass
            connection.sendall(answer)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    with server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
    thread.join()


class PassingTest(unittest.TestCase):
    def test_each_row_of_the_table(self):
        all_pass, none, settlements = (True, True, True), (False, False, False), (False, True, False)
        rows = [
            *[(page(status), all_pass) for status in (300, 302, 304, 400, 401, 403, 404, 405, 409, 418, 431, 500, 502, 503, 504, 520)],
            (page(404, '{"message": "no Route matched"}'), all_pass),
            (page(403, json.dumps({"type": "about:blank", "code": "forbidden", "status": 403})), all_pass),
            (page(403, json.dumps({"type": ["urn:problem-type:dibs:forbidden"], "code": 7})), all_pass),
            (page(404, "[" * 100_000), all_pass),
            (page(404, "null"), all_pass),
            (page(404, json.dumps({"type": "urn:problem-type:dibs:x", "code": 7})), all_pass),
            *[(page(status, location="/elsewhere"), settlements) for status in (301, 308)],
            (page(413), none),
            *[(problem(status, "unavailable"), all_pass) for status in (408, 429, 500, 502, 503)],
            (problem(401, "unauthorized"), none),
            (problem(403, "forbidden"), none),
            (problem(404, "route_not_found"), settlements),
            (problem(405, "method_not_allowed"), settlements),
            *[(problem(status, "refused"), none) for status in (400, 404, 409, 413, 415, 422, 431)],
        ]
        for answer, expected in rows:
            with self.subTest(answer), answering(lambda *_: answer) as url:
                error = failure_of(lambda: Client(url).get_queue("mail"))
                self.assertIsInstance(error, DibsError)
                self.assertEqual(decisions(error), expected)

    def test_a_401_to_a_key_that_was_accepted_passes_for_a_minute(self):
        answers = [page(200, "{}"), problem(401, "unauthorized")]
        with answering(lambda *_: answers.pop(0) if len(answers) > 1 else answers[0]) as url:
            client = Client(url, key=KEY)
            self.assertEqual(failure_of(lambda: client.get_queue("mail")).code, "connection")
            answers.insert(0, (200, {"content-type": "application/json"}, "{}"))
            client.get_queue("mail")
            self.assertEqual(decisions(failure_of(lambda: client.get_queue("mail"))), (True, True, True))
            client._refused_since -= 61
            self.assertEqual(decisions(failure_of(lambda: client.get_queue("mail"))), (False, False, False))
            answers.insert(0, (200, {"content-type": "application/json"}, "{}"))
            client.get_queue("mail")
            self.assertEqual(decisions(failure_of(lambda: client.get_queue("mail"))), (True, True, True))

    def test_a_look_at_health_accepts_no_key(self):
        def answer(method, path, headers):
            return (200, {}, "{}") if path == "/healthz" else problem(401, "unauthorized")

        with answering(answer) as url:
            client = Client(url, key=KEY)
            client.get_health()
            self.assertEqual(decisions(failure_of(lambda: client.get_queue("mail"))), (False, False, False))

    def test_what_can_never_be_sent_is_no_failure_that_passes(self):
        client = Client("http://127.0.0.1:1")
        for act in (
            lambda: client.request("GET", "/jobs/a b"),
            lambda: client.request("GET", "/jobs/ü"),
            lambda: client.request("GET", "/jobs\r\nx: y"),
            lambda: client.enqueue_job({}, idempotency_key="a\nb"),
            lambda: client.enqueue_job({}, idempotency_key="日本"),
            lambda: client.request("GET", "/jobs", headers={"a b": "c"}),
            lambda: client.request("GET", "/jobs", headers={"a": 7}),
            lambda: client.enqueue_job({"payload": math.nan}),
            lambda: client.enqueue_job({"delay_seconds": math.inf}),
            lambda: client.enqueue_job({"payload": object()}),
        ):
            error = failure_of(act)
            self.assertNotIsInstance(error, ConnectionFailed)
            self.assertEqual(decisions(error)[0], False)

    def test_a_refusal_that_comes_before_the_body_is_sent_is_heard(self):
        """The other side reads the head, answers, and hangs up. 16 MiB are more than the sockets hold."""
        for status, expected in ((413, (False, False, False)), (503, (True, True, True))):
            _, headers, text = problem(status, "early")
            head = "".join(f"{name}: {value}\r\n" for name, value in {**headers, "content-length": str(len(text))}.items())
            answer = f"HTTP/1.1 {status} early\r\n{head}\r\n{text}".encode()
            with answering_early(answer) as url:
                client = Client(url)
                error = failure_of(lambda: client.enqueue_job({"payload": "x" * (16 << 20)}))
                self.assertEqual((error.code, decisions(error)), ("early", expected))
                self.assertEqual(len(client._connections._idle), 0)

    def test_a_connection_that_breaks_before_the_body_is_sent_and_has_no_answer_is_a_failure_that_passes(self):
        with answering_early(b"") as url:
            error = failure_of(lambda: Client(url).enqueue_job({"payload": "x" * (16 << 20)}))
            self.assertEqual(decisions(error), (True, True, True))
            self.assertRegex(str(error), "BrokenPipeError|ConnectionResetError")

    def test_a_context_of_tls_that_cannot_be_made_is_a_failure_that_passes(self):
        """The machine may be short of files at this moment."""
        with mock.patch("ssl.create_default_context", side_effect=OSError("too many open files")):
            error = failure_of(lambda: Client("https://localhost:1").get_queue("mail"))
        self.assertEqual(decisions(error), (True, True, True))
        self.assertIn("too many open files", str(error))

    def test_a_worker_whose_settings_cannot_be_sent_ends(self):
        with self.assertRaises(TypeError):
            Worker(Client("http://127.0.0.1:1"), [object()], lambda job: None).run()  # type: ignore[list-item]

    def test_an_answer_of_another_shape_is_a_lost_one(self):
        for text in ("null", "[]", "7", '"ok"', "{}", '{"id": 7}', '{"jobs": {}}', '{"jobs": [7]}', "", "{", "[" * 100_000):
            with self.subTest(text), answering(lambda *_: (200, {"content-type": "application/json"}, text)) as url:
                producer = Producer(Client(url), retry_seconds=0)
                for act in (lambda: producer.enqueue({}), lambda: producer.enqueue_all([{}])):
                    self.assertIsInstance(failure_of(act), ConnectionFailed)


class KeyTest(unittest.TestCase):
    def test_a_key_function_that_fails_or_hangs_or_gives_no_key_is_a_failure_that_passes(self):
        def fails():
            raise SystemExit("the token file is being replaced")

        functions = (fails, lambda: "a\nb", lambda: 7, lambda: threading.Event().wait())
        with answering(lambda *_: (200, {}, "{}")) as url:
            for function in functions:
                error = failure_of(lambda: Client(url, key=function, timeout=0.2).get_queue("mail"))
                self.assertEqual(decisions(error), (True, True, True))

    def test_calls_of_a_key_function_that_hang_are_bounded(self):
        before = threading.active_count()
        client = Client("http://127.0.0.1:1", key=lambda: threading.Event().wait(), timeout=0.001)  # type: ignore[arg-type, return-value]
        for _ in range(100):
            self.assertIsInstance(failure_of(lambda: client.get_queue("mail")), ConnectionFailed)
        self.assertLess(threading.active_count() - before, 40)

    def test_white_space_around_it_is_no_part_of_it(self):
        seen = []

        def answer(method, path, headers):
            seen.append(headers["authorization"])
            return 200, {}, "{}"

        with answering(answer) as url:
            for key in (f"{KEY}\r\n", f"  {KEY}", lambda: f"{KEY}\n"):
                Client(f" {url}/\n", key=key).get_queue("mail")
            for none in (None, "", "\n", lambda: None):
                Client(url, key=none).get_queue("mail")
        self.assertEqual(seen, [f"Bearer {KEY}"] * 3 + [None] * 4)

    def test_a_key_that_can_be_none_is_refused_and_not_shown(self):
        for key in ("top\nsecret", "topsecret key", "topsecrét", "topsecret\x00", b"topsecret", 7, ["topsecret"]):
            error = failure_of(lambda: Client("http://127.0.0.1:1", key=key))
            self.assertIsInstance(error, ValueError)
            self.assertNotIn("secret", chain_of(error))

    def test_without_dibs_url_it_is_the_dibs_of_this_machine(self):
        for env in ({}, {"DIBS_URL": ""}):
            connection = Client.from_env(env)._connections.take(1)
            self.assertEqual((connection.host, connection.port), ("127.0.0.1", 8080))

    def test_an_address_of_ipv6_without_a_port_has_the_one_of_its_scheme(self):
        for url, port in (("https://[2001:db8::10]", 443), ("http://[2001:db8::10]/under", 80), ("http://[2001:db8::10]:81", 81)):
            connection = Client(url)._connections.take(1)
            self.assertEqual((connection.host, connection.port), ("2001:db8::10", port))

    def test_a_url_that_can_be_none_is_refused_and_shows_no_secret(self):
        for url in (
            *("", "localhost:8080", "127.0.0.1", "//127.0.0.1", "htp://a", "http://", "http:///jobs", "http://a:99999", "http://a:0"),
            *("http://a:b", "http://[::1", "http://a b", "http://u:topsecret@a", "http://topsecret@a", "http://a/?k=topsecret"),
            *("http://a#topsecret", "topsecret@a:80", f"http://{'a' * 64}.example", "http://a..b", None, 7, b"http://a"),
        ):
            error = failure_of(lambda: Client(url))  # type: ignore[arg-type]
            self.assertIsInstance(error, ValueError, url)
            self.assertNotIn("topsecret", chain_of(error))
        for url in ("http://[::1]:8080/under/this/", "https://dibs.example", "HTTP://127.0.0.1", "http://bücher.example"):
            Client(url)

    def test_no_error_has_the_key_even_when_a_page_quotes_it(self):
        quoting = [
            page(404, f"<pre>authorization: Bearer {KEY}</pre>"),
            page(500, "x" * 190 + KEY),
            page(200, f"Bearer {KEY}"),
            (200, {"content-type": "application/json"}, f'{{"{KEY}'),
            problem(400, "invalid_request", detail=f"Bearer {KEY}", errors=[KEY]),
        ]
        for answer in quoting:
            with self.subTest(answer), answering(lambda *_: answer) as url:
                error = failure_of(lambda: Client(url, key=KEY).get_queue("mail"))
                self.assertNotIn("topsecret", chain_of(error))
                self.assertNotIn("dibs_0000", chain_of(error))

    def test_a_short_key_spoils_no_refusal(self):
        for key in ("dibs", "forbidden", "e", "urn"):
            with answering(lambda *_: problem(403, "forbidden")) as url:
                error = failure_of(lambda: Client(url, key=key).get_queue("mail"))
                self.assertEqual((error.code, decisions(error)), ("forbidden", (False, False, False)))

    def test_no_error_has_the_key_when_the_answer_is_no_http(self):
        server = socket.create_server(("127.0.0.1", 0))

        def serve():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                request = connection.recv(10_000)
                connection.sendall(request.split(b"\r\n\r\n")[0].split(b"uthorization: ")[-1] + b"\r\n\r\n")
                connection.close()

        threading.Thread(target=serve, daemon=True).start()
        error = failure_of(lambda: Client(f"http://127.0.0.1:{server.getsockname()[1]}", key=KEY).get_queue("mail"))
        server.close()
        self.assertIsInstance(error, ConnectionFailed)
        self.assertNotIn("topsecret", chain_of(error))

    def test_a_connection_that_fails_says_where_it_went(self):
        for url in ("http://127.0.0.1:1", "http://127.0.0.1:1/dibs", "http://[::1]:1", "https://localhost:1"):
            error = failure_of(lambda: Client(url).get_queue("mail"))
            self.assertIn(f"GET {url}/queues/mail: ", str(error))


class TimesTest(unittest.TestCase):
    def test_every_length_is_taken_and_what_is_no_time_is_refused(self):
        client = Client("http://127.0.0.1:1")
        made = (
            lambda given: Client(timeout=given),
            lambda given: Producer(client, retry_seconds=given),
            lambda given: Worker(client, ["mail"], lambda job: None, stop_seconds=given),
            lambda given: Worker(client, ["mail"], lambda job: None, wait_seconds=given),
            lambda given: Worker(client, ["mail"], lambda job: None, lease_seconds=given),
            lambda given: seconds("seconds", given),
        )
        for make in made:
            for given in (0, 0.5, 2**31, 2592000, threading.TIMEOUT_MAX * 2, 10**400, math.inf, True):
                make(given)
            for given in (-1, -0.001, math.nan, -math.inf, -(10**400), "5", b"5", {}, 1j):
                with self.assertRaises(ValueError):
                    make(given)

    def test_a_wait_of_any_length_ends_when_its_event_comes(self):
        for limit in (math.inf, threading.TIMEOUT_MAX * 10, 1e300, 2**32 / 1000 + 0.001):
            event = threading.Event()
            threading.Timer(0.05, event.set).start()
            self.assertTrue(wait(event, limit))
        self.assertFalse(wait(threading.Event(), 0))

    def test_a_sleep_of_any_length_ends_with_its_signal_and_one_that_is_over_is_none(self):
        for length in (math.inf, 10**400, threading.TIMEOUT_MAX * 2):
            job = fake_job()
            threading.Timer(0.05, lambda: (setattr(job, "signal", "stopping"), job.should_end.set())).start()
            with self.assertRaises(JobSignal):
                job.sleep(length)
        for length in (0, -1, -math.inf):
            fake_job().sleep(length)
        with self.assertRaises(ValueError):
            fake_job().sleep(math.nan)

    def test_a_request_may_take_any_length_of_time(self):
        """A socket's own timer wraps around at 2**32 ms: this one would be over after a millisecond."""
        self.assertIsNone(socket_timeout(2**32 / 1000 + 0.001))

        def slow(*_):
            time.sleep(0.2)
            return 200, {}, "{}"

        with answering(slow) as url:
            for limit in (2**32 / 1000 + 0.001, math.inf, 1e300, 10**400):
                Client(url, timeout=limit).get_queue("mail")
                Client(url).get_queue("mail", timeout=limit)
            self.assertIsInstance(failure_of(lambda: Client(url, timeout=0).get_queue("mail")), ConnectionFailed)

    def test_a_time_of_a_query_has_no_exponent(self):
        """Dibs would refuse it: a wait that is all but over."""
        paths = []
        with answering(lambda method, path, headers: paths.append(path) or (200, {}, "{}")) as url:
            for given in (9.5e-05, 1e-300, 0.25, 20.0, 20):
                Client(url).get_batch("b", wait_seconds=given)
        self.assertEqual([float(path.split("=")[1]) for path in paths], [0, 0, 0.25, 20, 20])
        self.assertNotRegex("".join(paths), "e-")

    def test_retry_after_counts_for_a_minute_at_most(self):
        for given, expected in (("2", 2), ("1e400", 60), ("99999999999", 60), ("-5", 0), ("nan", 0), ("Fri, 31 Dec 1999", 0)):
            with answering(lambda *_: page(503, **{"retry-after": given})) as url:
                self.assertEqual(failure_of(lambda: Client(url).get_queue("mail")).retry_after, expected)


if __name__ == "__main__":
    unittest.main()
