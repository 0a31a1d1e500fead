"""Tells Dibs what became of the jobs of a worker."""

from __future__ import annotations

import json
import time
from typing import Any

from .answers import leases_of, results_of
from .claiming import Claiming
from .errors import DibsError, backoff, chance, may_be_done, passes
from .job import second_word
from .state import MOST_ITEMS, Claim, Settlement

#: Dibs takes 16 MiB in a body. Results and follow-ups may be large.
_MOST_CHARACTERS = 4 << 20


class Settling(Claiming):
    """Settles all that is done in one request, which may carry a claim."""

    def _take(self) -> list[Settlement]:
        """The next batch."""
        now = time.monotonic()
        batch: list[Settlement] = []
        left: list[Settlement] = []
        characters = 0
        for one in self._outbox:
            is_full = len(batch) >= MOST_ITEMS or (
                len(batch) > 0 and (characters + len(one.text) > _MOST_CHARACTERS or one.is_alone or batch[0].is_alone)
            )
            if one.not_before > now or is_full:
                left.append(one)
            else:
                batch.append(one)
                characters += len(one.text)
        self._outbox = left
        return batch

    def _send_settlements(self, may_carry: bool) -> None:
        """A settlement that goes alone carries no claim. So it is known which of the two is refused."""
        self._is_settling = True
        batch = self._take()
        lists = {verb: [one for one in batch if one.verb == verb] for verb in ("ack", "nack", "release")}
        members = [f'"{verb}s":[{",".join(one.text for one in items)}]' for verb, items in lists.items() if items]
        claim: Claim | None = None
        if may_carry and not batch[0].is_alone:
            self._is_claiming = self._carries = True
            claim, body = self._next_claim(0)
            members.append(f'"claim":{json.dumps(body)}')
        text = "{" + ",".join(members) + "}"

        def send() -> tuple[dict[str, Any], Any]:
            answer = self._client.request("POST", "/jobs/settle", text)
            results = {verb: results_of(answer, f"{verb}s", len(items)) for verb, items in lists.items() if items}
            if claim and not isinstance(answer.get("problem"), dict):
                return results, leases_of(answer)
            return results, DibsError(answer["problem"]) if claim else None

        def answered(answer: Any, error: BaseException | None) -> None:
            self._is_settling = False
            if claim:
                self._is_claiming = self._carries = False
            if error is not None:
                self._batch_failed(batch, claim, error)
                if claim:
                    claim.is_repeated = True
                    self._claim_not_before = max(self._claim_not_before, self._settle_not_before)
                return
            self._settle_failures = 0
            results, claimed = answer
            now, share = time.monotonic(), chance()
            for verb, items in results.items():
                for one, result in zip(lists[verb], items):
                    self._answered(one, result, now, share)
            if isinstance(claimed, DibsError):
                self._claim_failed(claimed)
            elif claim:
                self._claimed(claim, claimed)

        self._send(send, answered)

    def _answered(self, one: Settlement, result: dict[str, Any], now: float, share: float) -> None:
        """`share`: that of their pauses, so that those which fail together go together again."""
        status = result["status"]
        # Another 404 or 409 is about a batch or queue of its follow-ups.
        is_over = (result.get("problem") or {}).get("code") in ("job_not_found", "lease_lost")
        if status < 300 or (is_over and one.is_repeated):
            self._done(one.run)
            self._observe({"type": "settled", "job": one.run.lease, "verb": one.verb, "result": result})
        elif is_over:
            self._done(one.run)
            self._observe({"type": "lost", "job": one.run.lease, "verb": one.verb})
        else:
            error = DibsError({**(result.get("problem") or {}), "status": status})
            if passes(error, "settle"):
                one.not_before = now + backoff(one.failures, error, share)
                one.failures += 1
                one.is_repeated = one.is_repeated or may_be_done(error)
                self._outbox.append(one)
                self._observe({"type": "retrying", "request": "settle", "error": error})
            else:
                self._refused(one, error)

    def _batch_failed(self, batch: list[Settlement], claim: Claim | None, error: BaseException) -> None:
        passes_by = passes(error, "settle")
        is_bug = isinstance(error, DibsError) and error.status == 500
        for one in batch:
            one.is_repeated = one.is_repeated or may_be_done(error)
            # One of them, or the claim, may be what Dibs refuses, or fails at.
            one.is_alone = one.is_alone or is_bug or not passes_by
        if passes_by:
            pause = backoff(self._settle_failures, error)
            self._settle_failures += 1
            self._settle_not_before = time.monotonic() + pause
            self._outbox += batch
            self._observe({"type": "retrying", "request": "settle", "error": error, "seconds": pause})
        elif claim or len(batch) > 1:
            self._outbox += batch
        else:
            self._refused(batch[0], error)

    def _refused(self, one: Settlement, error: BaseException) -> None:
        """Dibs never takes it: its result is too large, or a follow-up or a delay is wrong."""
        self._observe({"type": "refused", "job": one.run.lease, "verb": one.verb, "error": error})
        is_forbidden = isinstance(error, DibsError) and error.status in (401, 403)
        if is_forbidden or one.is_last:
            self._done(one.run)
        else:
            self._settle(Settlement(one.run, second_word(one.outcome, str(error)), is_last=True))
