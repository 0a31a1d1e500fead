"""What the fuzzer does around its requests: it leads them to each other, shortens waits, and counts the answers."""

import atexit
import collections
import json
import os
import re
import zlib

import schemathesis

SHORT_WAIT_SECONDS = 0.05
LONGEST_WAIT_SECONDS = 60
QUEUE_NAME = re.compile(r"[A-Za-z0-9._:-]{1,128}")
FEW_QUEUES = ["default", "mail", "thumbnails"]
SETTLEMENTS = {"ackJob", "nackJob", "releaseJob", "extendLease"}
FILE = os.environ["FUZZ_ANSWERS"]

leases = collections.deque(maxlen=100)
answers = collections.Counter()
if os.path.exists(FILE):
    with open(FILE) as file:
        answers.update(json.load(file))


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """The links from a claim name the job. OpenAPI has no way to say which field of a body takes the lease token."""
    links = raw_schema["paths"]["/jobs/claim"]["post"]["responses"]["200"]["links"]
    for link in links.values():
        link["requestBody"] = {"lease_token": "$response.body#/jobs/0/lease_token"}


def shorten_wait(part):
    """A wait that is valid becomes a short one. What must be refused stays as it is."""
    value = part.get("wait_seconds")
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return
    try:
        seconds = float(value)
    except ValueError:
        return
    if SHORT_WAIT_SECONDS < seconds <= LONGEST_WAIT_SECONDS:
        part["wait_seconds"] = type(value)(SHORT_WAIT_SECONDS) if not isinstance(value, int) else 0


def one_of_few(name):
    """Three of four names of queues become one of a few, so that claims find jobs. The same name always becomes the same."""
    if not isinstance(name, str) or not QUEUE_NAME.fullmatch(name):
        return name
    return [*FEW_QUEUES, name][zlib.crc32(name.encode()) % 4]


def each_object(value):
    if isinstance(value, dict):
        yield value
        for name, field in value.items():
            if name != "payload":
                yield from each_object(field)
    if isinstance(value, list):
        for item in value:
            yield from each_object(item)


def operation_of(case):
    return case.operation.definition.raw.get("operationId", case.operation.label)


def use_lease(case):
    """A valid settlement is of a lease that a claim was answered, if there is one."""
    if operation_of(case) in SETTLEMENTS and leases and case.meta and case.meta.generation.mode.is_positive:
        case.path_parameters["id"], case.body["lease_token"] = leases.popleft()


@schemathesis.hook
def before_call(context, case, kwargs):
    for part in each_object([case.query, case.path_parameters, case.body]):
        shorten_wait(part)
        if "queue" in part:
            part["queue"] = one_of_few(part["queue"])
        queues = part.get("queues")
        if isinstance(queues, list) and len(queues) == 1:
            part["queues"] = [one_of_few(queues[0])]
    if case.headers and "wait" in str(case.headers.get("Prefer")):
        case.headers["Prefer"] = "wait=0"
    use_lease(case)


@schemathesis.hook
def after_call(context, case, response):
    operation = operation_of(case)
    answers[f"{operation} {response.status_code}"] += 1
    if operation == "claimJobs" and response.status_code == 200:
        leases.extend((job["id"], job["lease_token"]) for job in response.json()["jobs"])


@atexit.register
def save():
    with open(FILE, "w") as file:
        json.dump(answers, file)
