"""Serves the benchmark: one JSON request a line on stdin, one JSON answer a line on stdout.

A system is an object with `map(name, arguments)`, which runs a task of the function `name` of kernel.py for each tuple of
arguments and returns their results, `workers()`, the ids of its workers' processes if these can be killed, `stop()`, and
`ended`, the time of the last result, if `map` returns later."""

import functools
import json
import operator
import os
import signal
import sys
import threading
import time

import kernel

WORKERS = 2
# Maximum time to start and for a request. Then this process is killed, which the benchmark reports.
PATIENCE_S = 300
COLUMN_BITS = 8
INDEX_BITS = 16


def folder():
    """The folder for a system's own files."""
    return os.environ["PEERS_FOLDER"]


def prefixes(size, rows):
    """The ways to place queens in the first rows so that none attacks another, as kernel.py takes them."""
    found = []

    def place(row, columns, prefix):
        if row == rows:
            found.append(prefix)
            return
        for column in range(size):
            if all(column != other and abs(column - other) != row - above for above, other in enumerate(columns)):
                place(row + 1, columns + [column], prefix | column << COLUMN_BITS * row)

    place(0, [], 0)
    return found


def paths(tree, depth):
    """The nodes of a tree at this depth, as kernel.py takes them, and the number of nodes above."""
    level, above = [0], 0
    for row in range(depth):
        above += len(level)
        level = [
            path | index << INDEX_BITS * row
            for path in level
            for index in range(kernel.uts_children(tree, row, path))
        ]
    return level, above


def tasks(request):
    """The function of a request's tasks, their arguments, and how their results become one."""
    if request["do"] == "queens":
        size, rows = request["size"], request["rows"]
        return "queens", [(size, rows, prefix) for prefix in prefixes(size, rows)], sum
    if request["do"] == "uts":
        tree, depth = request["tree"], request["depth"]
        found, above = paths(tree, depth)
        return "uts", [(tree, depth, path) for path in found], lambda counts: above + sum(counts)
    if request["do"] == "bag":
        exclusive_or = functools.partial(functools.reduce, operator.xor)
        return "spin", [(request["turns"], seed) for seed in range(request["jobs"])], exclusive_or
    raise ValueError(f"unknown request {request}")


def answer(system, request):
    # The list of tasks is made before the clock starts.
    name, arguments, combined = tasks(request)
    if "kill_after_s" in request:
        victim = system.workers()[0]
        threading.Timer(request["kill_after_s"], os.kill, [victim, signal.SIGKILL]).start()
    began = time.time()
    result = combined(system.map(name, arguments))
    ended = getattr(system, "ended", None) or time.time()
    return {"seconds": ended - began, "result": str(result), "tasks": len(arguments)}


def serve(start):
    """Starts a system with `start(WORKERS)`, warms it up, and answers requests until stdin ends."""
    answers = os.fdopen(os.dup(1), "w")
    # Whatever a system prints goes to stderr.
    os.dup2(2, 1)
    signal.alarm(PATIENCE_S)
    system = start(WORKERS)
    # Each worker has loaded the library before anything is measured.
    for _ in range(3):
        system.map("spin", [(100_000, seed) for seed in range(50)])
    print(json.dumps({"ready": True}), file=answers, flush=True)
    signal.alarm(0)
    for line in sys.stdin:
        signal.alarm(PATIENCE_S)
        print(json.dumps(answer(system, json.loads(line))), file=answers, flush=True)
        signal.alarm(0)
    signal.alarm(PATIENCE_S)
    system.stop()
