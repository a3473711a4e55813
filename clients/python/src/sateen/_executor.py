"""Runs as `concurrent.futures`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Executor as BaseExecutor
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any, Union

from ._client import WINDOW, Client, check_window
from ._run import Run, cancel_all

#: Path, time of the last change and size of a file.
_Seen = tuple[str, int, int]
_App = Union[str, "os.PathLike[str]"]


class RunFuture(Future["str | bytes"]):
    """The result of a run to come. Unlike other futures, it can be cancelled until the run is over."""

    def __init__(self) -> None:
        super().__init__()
        #: The run; None until it is submitted.
        self.run: Run | None = None
        self._stop = threading.Event()

    def cancel(self) -> bool:
        """Cancels the run. Returns False if it is over."""
        is_cancelled = super().cancel()
        if is_cancelled:
            self._stop.set()
        return is_cancelled

    def running(self) -> bool:
        """Whether the run was submitted and is not over."""
        return self.run is not None and not self.done()

    def _do(self, submit: Callable[[], Run]) -> None:
        """Submits the run and waits for its result."""
        result: str | bytes = ""
        error: BaseException | None = None
        try:
            # A future stays pending meanwhile: one that is running could not be cancelled.
            if not self._stop.is_set():
                self.run = submit()
                self.run._wait(None, self._stop)
                if self._stop.is_set():
                    cancel_all([self.run])
                else:
                    result = self.run.result(timeout_s=0)
        except BaseException as raised:
            error = raised
        if not self.set_running_or_notify_cancel():
            return
        if error is not None:
            self.set_exception(error)
        else:
            self.set_result(result)


class Executor(BaseExecutor):
    """Submits runs as an executor of `concurrent.futures` submits calls, with an app in place of the function.

    `concurrent.futures.wait`, `as_completed` and `asyncio.wrap_future` work with what it returns. As a context, it waits for
    all runs, and cancels them if the block is left by an exception.

    Args:
        client: the coordinator; that of `Client()` if None, with connections that `shutdown` closes.
        max_workers: maximum runs under way; others wait for their turn here.
        options: as those of `Client.submit`, for all runs.
    """

    def __init__(self, client: Client | None = None, *, max_workers: int = WINDOW, **options: Any) -> None:
        check_window(max_workers)
        self._client = Client() if client is None else client
        self._owns_client = client is None
        self._options = options
        self._pool = ThreadPoolExecutor(max_workers, thread_name_prefix="sateen-executor")
        self._lock = threading.Lock()
        self._open: set[RunFuture] = set()
        #: Held while something is sent: others that need it wait.
        self._sending = threading.Lock()
        self._options_sent: dict[str, Any] | None = None
        #: Hashes of published files.
        self._published: dict[_Seen, str] = {}

    def submit(self, app: _App, /, *arguments: object, **options: Any) -> RunFuture:  # type: ignore[override]
        """Submits a run as soon as fewer than `max_workers` are under way.

        Args:
            app: the file of a module, which is published when it is new or has changed; or the name or hash of an app.
            arguments: the words of its command line.
            options: as those of `Client.submit`; they replace those of the executor.
        """
        future = RunFuture()

        def submit() -> Run:
            return self._client.submit(self._app(app), *arguments, **{**self._shared_options(), **options})

        with self._lock:
            self._open.add(future)
        future.add_done_callback(self._forget)
        try:
            self._pool.submit(future._do, submit)
        except BaseException:
            self._forget(future)
            raise
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Takes no more runs, and waits until all are over.

        Args:
            wait: whether to wait.
            cancel_futures: whether runs that were not submitted yet are cancelled.
        """
        if cancel_futures:
            for future in self._unfinished():
                if future.run is None:
                    future.cancel()
        # Not `cancel_futures`: the pool must run cancelled futures, so that threads that wait for them are woken.
        self._pool.shutdown(wait=wait)
        if wait and self._owns_client:
            self._client.close()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        if error is not None:
            for future in self._unfinished():
                future.cancel()
        self.shutdown(wait=True)
        return None

    def _unfinished(self) -> list[RunFuture]:
        with self._lock:
            return list(self._open)

    def _forget(self, future: Future[Any]) -> None:
        with self._lock:
            self._open.discard(future)

    def _shared_options(self) -> dict[str, Any]:
        """The executor's options. Inputs are uploaded once."""
        with self._sending:
            if self._options_sent is None:
                self._options_sent = self._client._options_sent(self._options)
            return self._options_sent

    def _app(self, app: _App) -> str:
        """The app's name or hash. A file is published if it is new or has changed."""
        path = Path(app)
        if not path.is_file():
            return self._client._app(app)
        about = path.stat()
        seen = (str(path.resolve()), about.st_mtime_ns, about.st_size)
        with self._sending:
            if seen not in self._published:
                self._published[seen] = self._client.publish(path)
            return self._published[seen]
