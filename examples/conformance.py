#!/usr/bin/env python3
"""Tries a worker against a lease API that misbehaves, and says what it did wrong.

    python3 examples/conformance.py -- python3 examples/worker.py

It plays the node: it serves the lease API on a free port and starts the worker with
LEASEHOLD_URL, LEASEHOLD_API_TOKEN and WORK_URL in its environment. The worker must
call WORK_URL/{percent-encoded session ID} with each step of its work, at least once
a second, and send the version of its lease along as Leasehold-Token: so it can be
seen when it works. Leases live for 6 s here.

Exit status: 0 the worker did all right, 1 it did not, 2 it could not be tried.
"""

import argparse
import collections
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.parse
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TTL = 6.0
TOKEN = "conformance"
SESSIONS = ["plain", "a/b", "a%2Fb", "..", "ü &?=#%"]
GRACE = 0.5  # what a request may take on its way
MOST_REQUESTS = 20  # to the API, in any second


class World:
    """The leases, the faults, and what the worker was seen to do wrong."""

    def __init__(self):
        self.lock = threading.RLock()
        self.leases = {}  # session: [holder, version, end]
        self.versions = collections.Counter({s: 1000 for s in SESSIONS})
        self.fault = None  # what renewals meet: None, "503", "hang"; "down" is for all
        self.faults = []
        self.seen = collections.Counter()
        self.holders, self.worked = set(), collections.defaultdict(list)
        self.lost, self.not_before, self.recent = {}, {}, collections.deque()
        self.stopping = None
        self.fail_fast = False

    def wrong(self, text):
        if text not in self.faults:
            self.faults.append(text)
            print("WRONG", text, flush=True)

    def lease(self, session):
        held = self.leases.get(session)
        if held and held[2] <= time.monotonic():
            self.lost[session] = (held[1], held[2])
            del self.leases[session]
            return None
        return held

    def steal(self, session):
        """Gives the lease to somebody else, as after a pause that was too long."""
        with self.lock:
            self.versions[session] += 1
            held = self.lease(session)
            self.lost[session] = (held[1] if held else 0, float("inf"))  # lost once it is told
            self.leases[session] = ["somebody else", self.versions[session], time.monotonic() + 3600]

    def work(self, session, token):
        now = time.monotonic()
        with self.lock:
            self.seen["work"] += 1
            self.worked[session].append(now)
            held = self.lease(session)
            if not token.isdigit():
                return self.wrong(f"works on {session!r} without its token in Leasehold-Token")
            token = int(token)
            lost, since = self.lost.get(session, (None, 0))
            if held and held[0] in self.holders and held[1] == token:
                if self.stopping and now > self.stopping + 2:
                    self.wrong("works on long after SIGTERM")
            elif token == lost and now <= since + GRACE:
                pass  # it is on its way to the end, or was not told yet
            elif token == lost:
                self.wrong(f"works on {session!r} {now - since:.1f} s after its lease had ended, or it was told that it had")
            else:
                self.wrong(f"works on {session!r} with the token {token}, which is not that of its lease")

    def paced(self, method, path):
        """Watches how often the worker asks, and whether it waits as it was told."""
        now = time.monotonic()
        self.recent.append(now)
        while self.recent[0] < now - 1:
            self.recent.popleft()
        if len(self.recent) > MOST_REQUESTS:
            self.wrong(f"sends more than {MOST_REQUESTS} requests a second")
        if now < self.not_before.pop((method, path), 0) - 0.2:
            self.wrong(f"does not wait for Retry-After before it repeats {method} {path}")


class Node(BaseHTTPRequestHandler):
    """The lease API, and the receiver of the work."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path, _, query = self.path.partition("?")
        if path.startswith("/step/"):
            self.world.work(urllib.parse.unquote(path[len("/step/"):]), self.headers.get("Leasehold-Token", ""))
            return self.answer(200, {})
        self.api("GET", path, urllib.parse.parse_qs(query), {})

    def do_POST(self):
        self.api("POST", self.path.partition("?")[0], {}, self.body())

    def do_DELETE(self):
        path, _, query = self.path.partition("?")
        named = {name: values[0] for name, values in urllib.parse.parse_qs(query).items()}
        self.api("DELETE", path, {}, {**named, **self.body()})

    def body(self):
        text = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            return json.loads(text) if text else {}
        except ValueError:
            self.world.wrong(f"sends a body that is not JSON: {text[:80]!r}")
            return {}

    def api(self, method, path, query, body):
        w = self.world
        with w.lock:
            w.paced(method, path)
            if self.headers.get("Authorization") != "Bearer " + TOKEN:
                w.wrong("does not send the bearer token")
                return self.problem(401, "bearer token needed")
            if w.fault == "down":
                return self.busy(method, path)
        if method == "GET" and path == "/api/v1/sessions":
            return self.free(query)
        if method == "POST" and path == "/api/v1/leases/renew":
            return self.renew_many(body)
        part = path.split("/")
        if len(part) < 6 or part[:4] != ["", "api", "v1", "sessions"] or part[5] != "lease":
            w.wrong(f"asks for {path}, which is no route: are IDs percent-encoded, slashes too?")
            return self.problem(404, "no such route")
        session = urllib.parse.unquote(part[4])
        if session not in SESSIONS:
            w.wrong(f"asks for the session {session!r}, which is none: {path}")
            return self.problem(404, "no such session")
        if part[6:] == ["renew"] and method == "POST":
            return self.renew_one(session, body)
        if method == "POST":
            return self.acquire(session, body, path)
        if method == "DELETE":
            return self.release(session, body)
        self.show(session)

    def free(self, query):
        w = self.world
        wait = float(query.get("wait", ["0s"])[0].rstrip("s"))
        limit = int(query.get("limit", ["100"])[0])
        end = time.monotonic() + min(wait, 60)
        if query.get("leased") != ["false"]:
            w.wrong("lists sessions without leased=false")
        with w.lock:
            w.seen["list"] += 1
            w.seen["wait"] += wait > 0
        while True:
            with w.lock:
                found = [{"session_id": s, "version": w.versions[s]} for s in SESSIONS if not w.lease(s)][:limit]
            if found or time.monotonic() >= end or w.fault == "down":
                return self.answer(200, found)
            time.sleep(0.05)

    def holder(self, body):
        w = self.world
        holder = body.get("holder_id")
        if not isinstance(holder, str) or not 1 <= len(holder) <= 128 or not holder.isprintable():
            w.wrong(f"has the holder {holder!r}, which is not 1 to 128 printable characters")
        w.holders.add(str(holder))
        if len(w.holders) > 1:
            w.wrong(f"changes its holder: {sorted(w.holders)}")
        return str(holder)

    def acquire(self, session, body, path):
        w = self.world
        with w.lock:
            holder, held = self.holder(body), w.lease(session)
            w.seen["acquire"] += 1
            if session == SESSIONS[0] and not w.seen["refused"]:
                w.seen["refused"] += 1
                return self.busy("POST", path)
            if held and held[0] != holder:
                w.seen["409"] += 1
                w.not_before["POST", path] = time.monotonic() + 1
                return self.problem(409, "held by another", {"Retry-After": "1"}, holder_id=held[0], version=held[1])
            if not held:
                if w.stopping:
                    w.wrong("takes a lease after SIGTERM")
                w.versions[session] += 1
            held = w.leases[session] = [holder, w.versions[session], time.monotonic() + TTL]
            w.lost.pop(session, None)
            self.answer(201, self.shown(held))

    def renew_one(self, session, body):
        w = self.world
        if w.fault == "hang":
            return self.hang()
        with w.lock:
            if w.fault == "503":
                w.seen["renewals refused"] += 1
                return self.busy("POST", self.path)
            status, body = self.renewed(session, self.holder(body), body.get("version"))
            self.answer(status, body) if status == 200 else self.problem(404, "no such lease")

    def renew_many(self, body):
        w = self.world
        if w.fault == "hang":
            return self.hang()
        with w.lock:
            if w.fault == "503":
                w.seen["renewals refused"] += 1
                return self.busy("POST", self.path)
            leases = body.get("leases") or []
            if not 1 <= len(leases) <= 1000:
                w.wrong(f"renews {len(leases)} leases in one call")
            answers = []
            for one in leases:
                holder = self.holder({"holder_id": one.get("holder_id") or body.get("holder_id")})
                status, fields = self.renewed(one.get("session_id"), holder, one.get("version"))
                answers.append({"session_id": one.get("session_id"), "status": status, **fields})
            self.answer(200, {"leases": answers})

    def renewed(self, session, holder, version):
        w, now = self.world, time.monotonic()
        held = w.lease(session)
        if not held or held[0] != holder or version is not None and version != held[1]:
            w.seen["404"] += 1
            lost = w.lost.get(session, (version or 0, now))
            w.lost[session] = (lost[0], min(lost[1], now))
            return 404, {"problem": {"type": "urn:leasehold:problem:no-such-lease", "title": "no such lease", "status": 404}}
        if held[2] - now < TTL / 2 and w.fault is None and now - w.calm > TTL:
            w.wrong(f"renews {session!r} only {TTL - (held[2] - now):.1f} s after the last time: a third of the TTL is {TTL / 3:.1f} s")
        w.seen["renew"] += 1
        held[2] = now + TTL
        return 200, self.shown(held)

    def release(self, session, body):
        w = self.world
        with w.lock:
            holder, held = self.holder(body), w.lease(session)
            w.seen["release"] += 1
            if held and held[0] == holder and body.get("version") in (None, held[1], str(held[1])):
                w.lost[session] = (held[1], time.monotonic() - GRACE + 0.1)
                del w.leases[session]
            self.answer(204, None)

    def show(self, session):
        with self.world.lock:
            held = self.world.lease(session)
            self.answer(200, self.shown(held)) if held else self.problem(404, "no such lease")

    def hang(self):
        self.world.seen["renewals unanswered"] += 1
        time.sleep(TTL * 2)
        self.close_connection = True

    def shown(self, held):
        end = datetime.now(timezone.utc).timestamp() + held[2] - time.monotonic()
        text = datetime.fromtimestamp(end, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return {"holder_id": held[0], "version": held[1], "expires_at": text}

    def busy(self, method, path):
        self.world.not_before[method, path] = time.monotonic() + 1
        self.problem(503, "unknown, not free", {"Retry-After": "1"})

    def problem(self, status, title, headers=None, **more):
        body = {"type": "about:blank", "title": title, "status": status, **more}
        self.answer(status, body, {"Content-Type": "application/problem+json", **(headers or {})})

    def answer(self, status, body, headers=None):
        text = b"" if body is None else json.dumps(body).encode()
        try:
            self.send_response(status)
            for name, value in {"Content-Type": "application/json", **(headers or {})}.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        except OSError:
            self.close_connection = True  # it did not wait for the answer, and may

    def log_message(self, *_):
        pass


class Trial:
    def __init__(self, world, worker):
        self.world, self.worker = world, worker

    def step(self, text):
        print("---", text, flush=True)

    def until(self, seconds, holds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.worker.poll() is not None:
                self.world.wrong(f"ended by itself with status {self.worker.returncode}")
                raise SystemExit
            with self.world.lock:
                if self.world.faults and self.world.fail_fast:
                    raise SystemExit
                if holds():
                    return True
            time.sleep(0.05)
        return False

    def pause(self, seconds):
        self.until(seconds, lambda: False)

    def held(self, sessions=SESSIONS):
        w = self.world
        return all((l := w.lease(s)) and l[0] in w.holders for s in sessions)

    def working(self, sessions=SESSIONS):
        now = time.monotonic()
        return all(w and now - w[-1] < 2 for w in (self.world.worked[s] for s in sessions))

    def set(self, fault):
        with self.world.lock:
            self.world.fault = fault
            if fault is None:
                self.world.calm = time.monotonic()

    def run(self):
        w, others = self.world, SESSIONS[1:]
        w.calm = time.monotonic()
        if not self.until(30, lambda: w.recent):
            w.wrong("asks for nothing within 30 s of its start")
        self.step("it takes what is free, also after a 503, and works on it")
        if not self.until(8, lambda: self.held() and self.working()):
            w.wrong(f"does not hold and work on all of {SESSIONS} within 8 s; held: {sorted(w.leases)}")
        if not w.seen["wait"]:
            w.wrong("asks for free sessions without wait: it polls")
        self.step("it renews before a third of the TTL is over")
        self.pause(TTL * 2)
        if not self.held():
            w.wrong(f"lets leases run out; held: {sorted(w.leases)}")
        self.step("it stops when a lease was lost, and leaves it to its new holder")
        w.steal(SESSIONS[0])
        self.pause(TTL)
        self.step("it tries again when a renewal is answered by 503, and keeps its leases")
        before = {s: w.versions[s] for s in others}
        self.set("503")
        self.pause(TTL / 2)
        self.set(None)
        self.pause(TTL / 2)
        if not self.held(others) or before != {s: w.versions[s] for s in others}:
            w.wrong("gives up its leases for a 503: it means unknown, not lost")
        self.step("it stops before its leases end when nothing is answered")
        self.set("hang")
        self.pause(TTL * 1.5)
        self.set(None)
        self.recover("renewals hung", others)
        self.step("it stops before its leases end when all is 503")
        self.set("down")
        self.pause(TTL * 1.5)
        self.set(None)
        self.recover("all was 503", others)
        self.stop(others)

    def recover(self, after, sessions):
        if not self.until(10, lambda: self.held(sessions) and self.working(sessions)):
            self.world.wrong(f"does not work on again within 10 s after {after}")

    def stop(self, sessions):
        self.step("it gives all back on SIGTERM")
        w = self.world
        with w.lock:
            w.stopping = time.monotonic()
        self.worker.send_signal(signal.SIGTERM)
        try:
            if self.worker.wait(10) != 0:
                w.wrong(f"ends with status {self.worker.returncode} after SIGTERM")
        except subprocess.TimeoutExpired:
            return w.wrong("has not ended 10 s after SIGTERM")
        left = [s for s in sessions if w.lease(s)]
        if left:
            w.wrong(f"does not release {left} on SIGTERM")


def main():
    parser = argparse.ArgumentParser(description="Tries a worker against a lease API that misbehaves.")
    parser.add_argument("--fail-fast", action="store_true", help="end with the first fault")
    parser.add_argument("command", nargs="+", help="starts the worker; write -- before it")
    args = parser.parse_args()
    world = Node.world = World()
    world.fail_fast = args.fail_fast
    server = ThreadingHTTPServer(("127.0.0.1", 0), Node)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    env = {**os.environ, "LEASEHOLD_URL": url, "LEASEHOLD_API_TOKEN": TOKEN, "WORK_URL": url + "/step", "NO_PROXY": "127.0.0.1"}
    try:
        worker = subprocess.Popen(args.command, env=env)
    except OSError as error:
        print(f"{args.command[0]} can't be started: {error}", file=sys.stderr)
        return 2
    try:
        Trial(world, worker).run()
    except SystemExit:
        pass
    finally:
        if worker.poll() is None:
            worker.kill()
            worker.wait()
    print(f"{len(world.faults)} faults; seen: {dict(world.seen)}", flush=True)
    return 1 if world.faults else 0


if __name__ == "__main__":
    sys.exit(main())
