"""A run of a grid."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._errors import NotUnderstood, Refused, SateenError, failure_of
from ._http import BULK_S, RESULT_BYTES_MAX, SHORT_S, Transport
from ._status import RunStatus

if TYPE_CHECKING:
    import numpy

    from ._view import RunView

#: How long a coordinator is asked to wait for a run in one request, in seconds.
WAIT_S = 10.0


class Run:
    """A run of a grid."""

    def __init__(self, transport: Transport, number: int) -> None:
        self._http = transport
        #: Its number.
        self.number = number
        self._last: RunStatus | None = None

    def __repr__(self) -> str:
        state = f", {self._last.state}" if self._last else ""
        return f"<sateen.Run {self.number} at {self._http.address.url}{state}>"

    def status(self) -> RunStatus:
        """Its current status."""
        return self._keep(self._http.request("GET", self._path()).json())

    def wait(self, timeout_s: float | None = None) -> RunStatus:
        """Waits until it is over, with a result or without. Raises TimeoutError after `timeout_s` seconds."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        status = self._wait(deadline)
        if not status.is_over:
            raise TimeoutError(f"run {self.number} is {status.state} after {timeout_s} s")
        return status

    def result(self, timeout_s: float | None = None) -> str | bytes:
        """Waits until it is over, and returns its result: text or bytes, as the app returned it.

        Raises the kind of RunFailed that says why there is none, and TimeoutError after `timeout_s` seconds.
        """
        content, is_text = self._result(timeout_s)
        return content.decode() if is_text else content

    def result_bytes(self, timeout_s: float | None = None) -> bytes:
        """As `result`, as bytes, whatever the app returned."""
        return self._result(timeout_s)[0]

    def result_text(self, timeout_s: float | None = None) -> str:
        """As `result`, as text. Raises ValueError if it is not UTF-8."""
        return self._result(timeout_s)[0].decode()

    def result_json(self, timeout_s: float | None = None) -> Any:
        """As `result`, read as JSON: a number, a list, an object and so on. Raises ValueError if it is something else."""
        return json.loads(self.result_text(timeout_s))

    def result_numpy(self, dtype: Any = "<f8", timeout_s: float | None = None) -> numpy.ndarray[Any, Any]:
        """As `result`: the bytes as an array of numbers, by default of little-endian doubles. Needs numpy.

        Raises ValueError if the result is not a whole number of elements.
        """
        import numpy as np

        return np.frombuffer(self.result_bytes(timeout_s), dtype=dtype)

    def exception(self, timeout_s: float | None = None) -> Exception | None:
        """Waits until it is over, and returns why it has no result; None if it has one."""
        return failure_of(self.wait(timeout_s))

    def cancel(self) -> RunStatus:
        """Cancels it. A run that is over stays as it is."""
        return self._change("cancel")

    def suspend(self) -> RunStatus:
        """Suspends it: hosts save its work and stop."""
        return self._change("suspend")

    def resume(self) -> RunStatus:
        """Resumes it after `suspend`."""
        return self._change("resume")

    def watch(self, every_s: float = 0.5) -> Iterator[RunStatus]:
        """Its status, at most every `every_s` seconds, until it is over; the last status is that of its end."""
        while True:
            status = self._wait_once(every_s, None)
            yield status
            if status.is_over:
                return

    def with_progress(self, bar: Any = None, every_s: float = 0.2) -> Run:
        """Waits until it is over, and shows its progress in a bar of tqdm, or in one that has the same methods."""
        if bar is None:
            from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]

            bar = tqdm(desc=f"run {self.number}")
        try:
            for status in self.watch(every_s):
                if status.progress is not None:
                    bar.total = status.progress.total or None
                    bar.n = status.progress.done
                    bar.refresh()
        finally:
            bar.close()
        return self

    def show(self, every_s: float = 0.5) -> RunView:
        """Shows it below a notebook's cell: its state, its figures and its tree, as they change. Needs anywidget.

        The last value of a cell is shown, so `client.submit(…).show()` is enough. Other cells can be run meanwhile. Once the
        run is over, nothing is asked any more.
        """
        try:
            from ._view import RunView
        except ModuleNotFoundError as error:
            if error.name not in ("anywidget", "traitlets"):
                raise
            raise ModuleNotFoundError(
                "Run.show() needs the package anywidget: pip install anywidget", name=error.name
            ) from error
        return RunView(self, every_s)

    def _change(self, action: str) -> RunStatus:
        try:
            return self._keep(self._http.request("POST", f"{self._path()}/{action}").json())
        except Refused as refused:
            if refused.status == 409 and action == "cancel" and (status := self.status()).is_over:
                return status
            raise

    def _result(self, timeout_s: float | None) -> tuple[bytes, bool]:
        status = self._last if self._last is not None and self._last.is_over else self.wait(timeout_s)
        if failure := failure_of(status):
            raise failure
        answer = self._http.request(
            "GET", f"{self._path()}/result", within_s=BULK_S, bytes_max=RESULT_BYTES_MAX
        )
        is_text = answer.content_type == "text/plain"
        if is_text:
            try:
                answer.body.decode()
            except UnicodeDecodeError:
                is_text = False
        return answer.body, is_text

    def _wait(self, deadline: float | None, stop: threading.Event | None = None) -> RunStatus:
        """Waits until it is over, the deadline or `stop`."""
        while True:
            left = WAIT_S if deadline is None else min(WAIT_S, deadline - time.monotonic())
            status = self._wait_once(max(left, 0.0), stop)
            if status.is_over or (stop is not None and stop.is_set()):
                return status
            if deadline is not None and time.monotonic() >= deadline:
                return status

    def _wait_once(self, within_s: float, stop: threading.Event | None) -> RunStatus:
        is_stopped = stop.is_set if stop is not None else lambda: False
        path = f"{self._path()}/wait?timeout_s={within_s:.3f}" if within_s > 0 else self._path()
        answer = self._http.request("GET", path, within_s=SHORT_S + within_s, is_stopped=is_stopped)
        return self._keep(answer.json())

    def _keep(self, raw: object) -> RunStatus:
        self._last = read(raw)
        return self._last

    def _path(self) -> str:
        return f"/api/v1/runs/{self.number}"


class cancelled_if_interrupted:
    """Cancels runs if something other than their own failure ends the block."""

    def __init__(self, runs: Sequence[Run]) -> None:
        self._runs = runs

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not isinstance(error, SateenError):
            cancel_all(self._runs)


def cancel_all(runs: Iterable[Run]) -> None:
    for run in runs:
        try:
            run.cancel()
        except SateenError:
            # What ends the caller's work says more than that the coordinator is gone as well.
            pass


def read(raw: object) -> RunStatus:
    try:
        return RunStatus.read(raw)
    except (KeyError, TypeError, ValueError) as error:
        raise NotUnderstood(f"the coordinator describes a run in a way that is not known: {error!r}") from error
