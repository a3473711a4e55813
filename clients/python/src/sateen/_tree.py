"""The tree of a run as boxes, and the run in a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ._status import RunStatus

#: The width of the narrowest box that is drawn, as a part of the whole.
NARROWEST = 1 / 1000
#: The most boxes that are drawn, and the most rows.
BOXES_MAX = 1500
ROWS_MAX = 40


class Box(NamedTuple):
    """A job: below its parent's box, and the wider, the more jobs are below."""

    #: Where it begins, and how wide it is, as parts of the whole width.
    left: float
    width: float
    #: The number of jobs above it.
    row: int
    #: The index of its host.
    host: int
    state: str
    label: str


class Boxes(NamedTuple):
    """A tree, drawn."""

    boxes: list[Box]
    #: The names of the hosts, in the order in which they appear in the tree.
    hosts: list[str]


def boxes(nodes: Sequence[Mapping[str, Any]]) -> Boxes:
    """The boxes of a tree with these jobs, as the coordinator describes them. Those that are too small are left out."""
    index_of = {str(node["job"]): index for index, node in enumerate(nodes)}
    children: list[list[int]] = [[] for _ in nodes]
    roots = []
    for index, node in enumerate(nodes):
        parent = index_of.get(str(node.get("parent")), index)
        # A job that was begun again is described twice; what is below it belongs to the newer one.
        if parent != index:
            children[parent].append(index)
        elif node.get("parent") is None:
            roots.append(index)
    order: list[int] = []
    rest = list(reversed(roots))
    while rest:
        index = rest.pop()
        order.append(index)
        rest.extend(reversed(children[index]))
    jobs = [0] * len(nodes)
    for index in reversed(order):
        below = sum(jobs[child] for child in children[index])
        jobs[index] = max(below, 1) + int(nodes[index].get("rolled") or 0)
    drawn: list[Box] = []
    hosts: dict[str, int] = {}
    left, whole = 0.0, sum(jobs[root] for root in roots) or 1
    places: list[tuple[int, float, int]] = []
    for root in roots:
        places.append((root, left, 0))
        left += jobs[root] / whole
    # Row by row, so that the largest are drawn if there are too many.
    for index, left, row in places:
        width = jobs[index] / whole
        if width < NARROWEST or row >= ROWS_MAX or len(drawn) == BOXES_MAX:
            continue
        node = nodes[index]
        host = hosts.setdefault(str(node.get("host_name") or node.get("host") or "?"), len(hosts))
        drawn.append(Box(left, width, row, host, str(node["state"]), _label(node)))
        for child in children[index]:
            places.append((child, left, row + 1))
            left += jobs[child] / whole
    return Boxes(drawn, list(hosts))


def _label(node: Mapping[str, Any]) -> str:
    words = [str(node.get("call") or node.get("function") or "?"), str(node["state"])]
    if host := node.get("host_name"):
        words.append(f"at {host}")
    if (work_s := node.get("work_s")) is not None:
        words.append(f"{float(work_s):.3g} s of work")
    return ", ".join(words)


def line(status: RunStatus) -> str:
    """A run in a line: its state and figures."""
    words = [status.state]
    if status.elapsed_s is not None:
        words[0] += f" {'after' if status.is_over else 'for'} {_time(status.elapsed_s)}"
    if status.hosts:
        words.append(f"{status.hosts} {'host' if status.hosts == 1 else 'hosts'}")
    executed = status.jobs.executed
    if executed:
        words.append(f"{executed:,} {'job' if executed == 1 else 'jobs'}")
    if status.work_s:
        words.append(f"{_time(status.work_s)} of work")
    if status.error is not None:
        words.append(status.error.message)
    elif status.waiting_for is not None:
        words.append(status.waiting_for)
    return ", ".join(words)


def _time(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {seconds} s"
