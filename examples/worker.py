#!/usr/bin/env python3
"""A worker for Leasehold, with nothing but Python's standard library.

It asks any node for sessions that are free, leases them, works on each for as long
as its lease is trusted, and gives all back on SIGTERM or SIGINT:

    LEASEHOLD_URL=http://127.0.0.1:8080 python3 examples/worker.py --holder w1

What keeps it right:

* A lease is trusted from the moment its request was SENT, for its TTL. Work that is
  not over by then is told to stop, whatever the network does meanwhile.
* All leases are renewed in one call before a third of the TTL is over. 404 means
  lost: stop at once. 503, or no answer, means unknown: try again while trust lasts.
* The version that came with the lease, its fencing token, goes out with all work, so
  that whoever receives it can refuse a worker that is late.
* A lease is released only after its work has ended.
"""

import argparse
import json
import logging
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from datetime import datetime
from email.utils import parsedate_to_datetime

log = logging.getLogger("worker")

# The answer's Date has whole seconds, so a TTL reckoned from it is up to one too long.
DATE_ROUNDING = 1.0
# How long to wait for something free in one request, and for any other answer.
LONG_POLL = 30
TIMEOUT = 5
SIGNALS = {signal.SIGTERM, signal.SIGINT}


class Unknown(Exception):
    """There was no answer that says anything: it counts neither as yes nor as no."""

    def __init__(self, reason, retry_after=1.0):
        super().__init__(reason)
        self.retry_after = retry_after


class Api:
    """The lease API of one node."""

    def __init__(self, url, token, kind):
        self.url = url.rstrip("/") + "/api/v1"
        self.token = token
        self.kind = kind

    def call(self, method, path, body=None, timeout=TIMEOUT):
        """Sends one request; returns the status, the body, and the node's time."""
        request = urllib.request.Request(self.url + path, method=method)
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        if self.token:
            request.add_header("Authorization", "Bearer " + self.token)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                return self._read(answer)
        except urllib.error.HTTPError as problem:
            if problem.code >= 500 or problem.code == 429:
                wait = problem.headers.get("Retry-After", "")
                raise Unknown(f"{method} {path}: {problem.code}", float(wait) if wait.isdigit() else 1.0)
            return self._read(problem)
        except (OSError, ValueError) as error:
            raise Unknown(f"{method} {path}: {error}")

    @staticmethod
    def _read(answer):
        text = answer.read()
        date = parsedate_to_datetime(answer.headers["Date"])
        return answer.status, json.loads(text) if text else None, date

    def free(self, limit):
        """Waits until something is free; returns IDs, or nothing when the time is over."""
        query = f"/sessions?leased=false&limit={limit}&wait={LONG_POLL}s"
        if self.kind:
            query += f"&kind={self.kind}"
        status, sessions, _ = self.call("GET", query, timeout=LONG_POLL + TIMEOUT)
        if status != 200:
            raise Unknown(f"no list of free sessions: {status} {sessions}", 5.0)
        return [s["session_id"] for s in sessions]

    def acquire(self, session, holder):
        """Returns the lease, or None where another has it or there is none to have."""
        sent = time.monotonic()
        status, body, date = self.call("POST", lease_path(session), {"holder_id": holder})
        return Lease(session, body["version"], *trust(sent, body, date)) if status in (200, 201) else None

    def renew(self, leases, holder):
        """Renews all in one call; yields each with its new trust, or None: it was lost."""
        sent = time.monotonic()
        patience = max(0.5, min(TIMEOUT, min(l.left() for l in leases) / 3))  # leaves time to try again
        named = [{"session_id": l.session, "version": l.version} for l in leases]
        status, body, date = self.call("POST", "/leases/renew", {"holder_id": holder, "leases": named}, patience)
        if status != 200:
            raise Unknown(f"no renewal: {status} {body}")
        for lease, answer in zip(leases, body["leases"]):
            if answer["status"] == 200:
                yield lease, trust(sent, answer, date)
            elif answer["status"] < 500:
                yield lease, None

    def release(self, lease, holder):
        self.call("DELETE", lease_path(lease.session), {"holder_id": holder, "version": lease.version})


def lease_path(session):
    return "/sessions/" + urllib.parse.quote(session, safe="") + "/lease"


def trust(sent, body, date):
    """Returns until when a lease is trusted, and its TTL. Both times of the answer are
    of the node's clock: ours need not agree with it."""
    ttl = (datetime.fromisoformat(body["expires_at"].replace("Z", "+00:00")) - date).total_seconds() - DATE_ROUNDING
    return sent + ttl, ttl


class Lease:
    def __init__(self, session, version, until, ttl):
        self.session, self.version = session, version
        self.ended = threading.Event()  # work must stop, and starts no more
        self.thread = None
        self.extend(until, ttl)

    def extend(self, until, ttl):
        self.until = until
        self.renew_at = until - ttl * 3 / 4

    def left(self):
        """How long the lease is trusted yet; 0 when it has ended."""
        return 0 if self.ended.is_set() else max(0.0, self.until - time.monotonic())


def work(lease, args):
    """Works on a session while its lease lasts. Put your own work here: ask left()
    before each step, bound each step by it, and pass the version on."""
    while lease.left() > 0:
        if args.work_url:
            url = args.work_url.rstrip("/") + "/" + urllib.parse.quote(lease.session, safe="")
            request = urllib.request.Request(url)
            request.add_header("Leasehold-Instance", args.holder)
            request.add_header("Leasehold-Token", str(lease.version))
            try:
                with urllib.request.urlopen(request, timeout=min(TIMEOUT, lease.left())) as answer:
                    answer.read()
            except (OSError, ValueError) as error:
                log.warning("work on %r failed: %s", lease.session, error)
        else:
            log.info("working on %r with version %d", lease.session, lease.version)
        lease.ended.wait(min(args.interval, lease.left()))


class Worker:
    def __init__(self, api, args):
        self.api, self.args, self.holder = api, args, args.holder
        self.lock = threading.Lock()  # held while a lease is taken, so that none is left behind
        self.leases = {}
        self.stopping = threading.Event()

    def run(self):
        threads = [threading.Thread(target=self.take, daemon=True), threading.Thread(target=self.keep, daemon=True)]
        for t in threads:
            t.start()
        signal.sigwait(SIGNALS)
        self.stopping.set()
        with self.lock:
            held = list(self.leases.values())
        for lease in held:
            lease.ended.set()
        for lease in held:
            lease.thread.join()
            try:
                self.api.release(lease, self.holder)
                log.info("released %r", lease.session)
            except Unknown as error:
                log.warning("%r is left to run out: %s", lease.session, error)

    def take(self):
        """Takes what is free, up to the most that we may have."""
        while not self.stopping.is_set():
            room = self.args.max - len(self.leases)
            if room <= 0:
                self.stopping.wait(1)
                continue
            try:
                got = [self.take_one(session) for session in self.api.free(room)]
                if not any(got):  # others were faster
                    self.stopping.wait(0.2)
            except Unknown as error:
                log.warning("%s", error)
                self.stopping.wait(error.retry_after)

    def take_one(self, session):
        with self.lock:
            if self.stopping.is_set() or session in self.leases:
                return False
            lease = self.api.acquire(session, self.holder)
            if lease is None:
                return False
            lease.thread = threading.Thread(target=self.work, args=(lease,))
            self.leases[session] = lease
            lease.thread.start()
            return True

    def work(self, lease):
        log.info("leased %r with version %d", lease.session, lease.version)
        work(lease, self.args)
        log.info("stopped working on %r", lease.session)
        if not self.stopping.is_set():
            del self.leases[lease.session]  # from now on it may be taken again

    def keep(self):
        """Renews in time. A lease that is not trusted any more is left to run out."""
        while not self.stopping.wait(0.1):
            held = [l for l in list(self.leases.values()) if l.left() > 0]
            if any(l.renew_at <= time.monotonic() for l in held):
                self.renew(held)

    def renew(self, held):
        try:
            for lease, extended in self.api.renew(held, self.holder):
                if extended:
                    lease.extend(*extended)
                else:
                    log.warning("%r was lost", lease.session)
                    lease.ended.set()
        except Unknown as error:
            log.warning("%s", error)
            for lease in held:
                lease.renew_at = time.monotonic() + error.retry_after


def main():
    parser = argparse.ArgumentParser(description="A worker for Leasehold.")
    parser.add_argument("--url", default=os.environ.get("LEASEHOLD_URL", "http://127.0.0.1:8080"), help="any node")
    parser.add_argument("--holder", default=f"{socket.gethostname()}.{os.getpid()}", help="unique among all workers")
    parser.add_argument("--max", type=int, default=100, help="most sessions at a time")
    parser.add_argument("--kind", default="external", help="of the sessions to take: external (the default) leaves alone those that nodes poll; '' takes any")
    parser.add_argument("--interval", type=float, default=1.0, help="seconds between two steps of work")
    parser.add_argument("--work-url", default=os.environ.get("WORK_URL"), help="is called with each step of work")
    args = parser.parse_args()
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(message)s")

    worker = Worker(Api(args.url, os.environ.get("LEASEHOLD_API_TOKEN"), args.kind), args)
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # in all threads: run waits for them
    log.info("this is %s", args.holder)
    worker.run()


if __name__ == "__main__":
    main()
