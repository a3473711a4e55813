"""A run in a notebook: its state and its tree, while it computes. Needs anywidget."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import anywidget
import traitlets

from ._errors import Refused, SateenError, Unreachable
from ._http import BULK_S
from ._run import Run
from ._status import RunStatus
from ._tree import boxes, line

STATIC = Path(__file__).parent / "static"
#: Asking for a tree takes at most this part of the time: a large one takes a while.
TREE_PART = 0.1


class RunView(anywidget.AnyWidget):
    """Shows a run until it is over or the view is closed."""

    _esm = STATIC / "run.js"
    _css = STATIC / "run.css"
    #: What is shown: `title`, `state`, `line`, `progress` from 0 to 1 or None, `boxes`, `hosts`, and `problem` if the
    #: coordinator cannot be asked.
    shown = traitlets.Dict().tag(sync=True)

    def __init__(self, run: Run, every_s: float) -> None:
        super().__init__()
        # Requests of its own: the run's may wait in another thread.
        self._run = Run(run._http, run.number)
        self._every_s = max(every_s, 0.1)
        self._tree_next_s = 0.0
        #: Nothing is asked any more.
        self._end = threading.Event()
        self._look()
        if not self._end.is_set():
            threading.Thread(target=self._follow, name=f"sateen-run-{run.number}", daemon=True).start()

    def close(self) -> None:
        """Stops showing it. The run continues."""
        # It is also called for a view that could not be made.
        if end := getattr(self, "_end", None):
            end.set()
        super().close()

    def _follow(self) -> None:
        while not self._end.wait(self._every_s):
            self._look()

    def _look(self) -> None:
        """Asks how the run is, and shows it."""
        try:
            status = self._run.status()
            self.shown = {**self.shown, **_figures(status), **self._tree(status.is_over), "problem": None}
            if status.is_over:
                self._end.set()
        except SateenError as error:
            self.shown = {**self.shown, "problem": str(error)}
            # Of other problems, none goes away: the run was deleted, say.
            if not isinstance(error, Unreachable):
                self._end.set()

    def _tree(self, is_over: bool) -> dict[str, Any]:
        began_s = time.monotonic()
        if began_s < self._tree_next_s and not is_over:
            return {}
        drawn = self._boxes()
        ended_s = time.monotonic()
        self._tree_next_s = ended_s + (ended_s - began_s) / TREE_PART
        return drawn

    def _boxes(self) -> dict[str, Any]:
        """The boxes of the tree and the names of its hosts; nothing if the tree is not kept any more."""
        try:
            tree = self._run._http.request("GET", f"{self._run._path()}/tree", within_s=BULK_S).json()
        except Refused as refused:
            if refused.status == 410:
                return {}
            raise
        drawn = boxes(tree["nodes"])
        return {"boxes": [list(box) for box in drawn.boxes], "hosts": drawn.hosts}


def _figures(status: RunStatus) -> dict[str, Any]:
    done = status.progress
    return {
        "title": " ".join((f"run {status.run}: {status.app}", *status.arguments)),
        "state": status.state,
        "line": line(status),
        "progress": min(done.done / done.total, 1.0) if done is not None and done.total else None,
    }
