"""The client for ordinary programs and notebooks."""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Union

from ._credentials import DEFAULT, Address, credentials_for
from ._errors import NotUnderstood, SateenError
from ._http import BULK_S, Transport, segment
from ._run import WAIT_S, Run, cancel_all, cancelled_if_interrupted, read
from ._samples import no_file
from ._status import RunStatus

#: The bytes of an input, its text, or its file.
Input = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]"]

#: As `WAIT_S`, where other runs may end first.
TURN_S = 1.0
#: Maximum runs of which the coordinator is asked at the same time. It answers up to 256 such requests of one address.
WATCHED_MAX = 64
#: Runs that `map` has under way, if the caller does not say.
WINDOW = 32
#: Maximum of that: of one address, a coordinator takes up to 1000 unfinished runs.
WINDOW_MAX = 500


@dataclass(frozen=True)
class Limits:
    """Limits of a run. For those that are None, the hosts' defaults hold."""

    memory_bytes: int | None = None
    stack_bytes: int | None = None
    output_bytes: int | None = None
    shared_bytes: int | None = None
    guard_wait_ms: int | None = None
    time_ms: int | None = None
    cpu_ms: int | None = None


class Client:
    """A coordinator. It may be used by several threads, and as a context, which closes its connections.

    Args:
        coordinator: its address, like `http://HOST:PORT` or `HOST:PORT`; that of SATEEN_COORDINATOR if None, and else
            that of this machine.
        token: that of SATEEN_TOKEN or of the last `sateen login` if None.
        patience_s: how long to try again, in seconds, while the coordinator is busy or does not answer.
    """

    def __init__(
        self, coordinator: str | None = None, *, token: str | None = None, patience_s: float = 30.0
    ) -> None:
        address = Address.parse(coordinator or os.environ.get("SATEEN_COORDINATOR") or DEFAULT)
        self._http = Transport(address, credentials_for(address, token), patience_s)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. Runs continue."""
        self._http.close()

    @property
    def url(self) -> str:
        """The coordinator's address."""
        return self._http.address.url

    def version(self) -> str:
        """The version of the coordinator. Raises NotUnderstood if something else answers."""
        answer = self._http.request("GET", "/version").json()
        if not isinstance(answer, dict) or answer.get("name") != "sateen-coordinator":
            raise NotUnderstood(f"{self.url} is not a Sateen coordinator")
        return str(answer.get("version"))

    def publish(self, module: str | os.PathLike[str], name: str | None = None) -> str:
        """Publishes the file of a module, by default under the name of the file. Returns its hash."""
        path = Path(module)
        query = segment(name if name is not None else path.stem)
        answer = self._http.request(
            "POST", f"/api/v1/apps?name={query}", path.read_bytes(), "application/wasm", within_s=BULK_S
        )
        return self._text_of(answer.json(), "hash")

    def upload(self, content: Input) -> str:
        """Uploads an input. Returns its hash, which `submit` takes as well, for many runs with one input."""
        answer = self._http.request(
            "POST", "/api/v1/blobs", _bytes_of(content), "application/octet-stream", within_s=BULK_S
        )
        return self._text_of(answer.json(), "hash")

    def submit(
        self,
        app: str | os.PathLike[str],
        *arguments: object,
        function: str = "main",
        inputs: Mapping[str, Input] | None = None,
        uploaded: Mapping[str, str] | None = None,
        limits: Limits | None = None,
        strict_nan: bool = False,
        trust: str | None = None,
        priority: str | None = None,
        reuse: bool = False,
    ) -> Run:
        """Submits a run, and returns at once.

        Args:
            app: the file of a module (`.wasm`), which is published under its name; or the name or hash of an app.
            arguments: the words of its command line; numbers and others are converted by `str`.
            function: its entry point.
            inputs: contents by name: bytes, text, or the path of a file.
            uploaded: hashes of `upload` by name.
            limits: limits of the run.
            strict_nan: whether the NaN bits of float operations are the same on every machine.
            trust: `"quorum=N"` if N hosts with different keys must agree on each result, N from 2 to 5;
                `"audit=P"` if a share P of the work of each host is drawn and computed again by another;
                otherwise, hosts are believed.
            priority: `"low"`, `"normal"` or `"high"`: which of your runs get more; each gets four times as much of the
                grid as the one before.
            reuse: whether to use results of your earlier runs of this app, and to keep those of this run for later ones;
                only if hosts are believed.
        """
        hashes = dict(uploaded or {})
        hashes.update({name: self.upload(content) for name, content in (inputs or {}).items()})
        submission = {
            "app": self._app(app),
            "function": function,
            "arguments": [_word(argument) for argument in arguments],
            "inputs": hashes,
            # A coordinator refuses limits that it does not know, also if they are null.
            "limits": {name: limit for name, limit in asdict(limits or Limits()).items() if limit is not None},
            "strict_nan": strict_nan,
        }
        # An older coordinator knows none of them.
        policies = {"trust": trust, "priority": priority, "reuse": reuse or None}
        submission |= {name: policy for name, policy in policies.items() if policy is not None}
        answer = self._http.request("POST", "/api/v1/runs", json.dumps(submission).encode()).json()
        try:
            return Run(self._http, int(answer["run"]))
        except (KeyError, TypeError, ValueError) as error:
            raise NotUnderstood("the coordinator does not say the number of the run") from error

    def run(self, app: str | os.PathLike[str], *arguments: object, **options: Any) -> str | bytes:
        """Submits a run as `submit` does, and returns its result as `Run.result` does.

        If it is interrupted meanwhile, as by Ctrl-C or a notebook's stop button, the run is cancelled.
        """
        run = self.submit(app, *arguments, **options)
        with cancelled_if_interrupted([run]):
            return run.result()

    def attach(self, run: int) -> Run:
        """A run that exists already, by its number."""
        return Run(self._http, run)

    def runs(self, limit: int = 100) -> list[RunStatus]:
        """The newest runs, the newest first; 1000 at most."""
        answer = self._http.request("GET", f"/api/v1/runs?limit={int(limit)}").json()
        if not isinstance(answer, list):
            raise NotUnderstood("the coordinator's list of runs is not a list")
        return [read(run) for run in answer]

    def map(
        self,
        app: str | os.PathLike[str],
        arguments: Iterable[object],
        *,
        window: int = WINDOW,
        progress: Callable[[int], None] | None = None,
        **options: Any,
    ) -> Iterator[str | bytes]:
        """The results of one run for each of `arguments`, in their order; `window` runs at a time.

        An element of `arguments` is a word, or a tuple or list of words. The iterator submits runs as its results are
        taken. If it is closed or interrupted, or a run fails, runs that are under way are cancelled.

        A run costs some tens of milliseconds. For many short tasks, write an app that takes all of them as one input, as
        that of `sateen new --template bag` does: its jobs cost microseconds.

        Args:
            progress: called with the number of results so far.
            options: as those of `submit`.
        """
        check_window(window)
        return self._map(app, arguments, window, progress, options)

    def _map(
        self,
        app: str | os.PathLike[str],
        arguments: Iterable[object],
        window: int,
        progress: Callable[[int], None] | None,
        options: dict[str, Any],
    ) -> Iterator[str | bytes]:
        app, options = self._sent_once(app, options)
        open_runs: list[Run] = []
        stop = threading.Event()

        def one(words: tuple[object, ...]) -> str | bytes:
            if stop.is_set():
                raise SateenError("the map was stopped")
            run = self.submit(app, *words, **options)
            open_runs.append(run)
            try:
                if not stop.is_set():
                    run._wait(None, stop)
                return run.result(timeout_s=0)
            finally:
                open_runs.remove(run)
                # It may have been submitted while the others were cancelled.
                if stop.is_set():
                    cancel_all([run])

        pool = ThreadPoolExecutor(window, thread_name_prefix="sateen-map")
        under_way: deque[Future[str | bytes]] = deque()

        def results() -> Iterator[str | bytes]:
            for element in arguments:
                under_way.append(pool.submit(one, words_of(element)))
                if len(under_way) >= window:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()

        try:
            for done, result in enumerate(results(), 1):
                if progress:
                    progress(done)
                yield result
        finally:
            stop.set()
            cancel_all(list(open_runs))
            pool.shutdown(wait=True, cancel_futures=True)

    def as_completed(self, runs: Iterable[Run], timeout_s: float | None = None) -> Iterator[Run]:
        """The runs in the order in which they end, with a result or without. Raises TimeoutError after `timeout_s`."""
        all_runs = list(runs)
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        return self._as_completed(all_runs, deadline)

    def _as_completed(self, runs: Sequence[Run], deadline: float | None) -> Iterator[Run]:
        if not runs:
            return
        ended: queue.SimpleQueue[Run | BaseException] = queue.SimpleQueue()
        waiting: queue.SimpleQueue[Run] = queue.SimpleQueue()
        for run in runs:
            waiting.put(run)
        stop = threading.Event()
        # With more runs than threads, each is asked of for a moment in turn.
        turn_s = WAIT_S if len(runs) <= WATCHED_MAX else TURN_S

        def watch() -> None:
            while not stop.is_set():
                try:
                    run = waiting.get_nowait()
                except queue.Empty:
                    return
                try:
                    is_over = run._wait_once(turn_s, stop).is_over
                except BaseException as error:
                    ended.put(error)
                    return
                (ended if is_over else waiting).put(run)

        threads = [threading.Thread(target=watch, daemon=True) for _ in range(min(len(runs), WATCHED_MAX))]
        for thread in threads:
            thread.start()
        try:
            for _ in runs:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                try:
                    outcome = ended.get(timeout=left)
                except queue.Empty:
                    raise TimeoutError("not all runs have ended in time") from None
                if isinstance(outcome, BaseException):
                    raise outcome
                yield outcome
        finally:
            stop.set()

    def _sent_once(
        self, app: str | os.PathLike[str], options: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]]:
        """Sends what many runs share: the app, and the inputs among the options of `submit`. Returns what names them."""
        return self._app(app), self._options_sent(options)

    def _options_sent(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of `submit`, with the hashes of inputs that were uploaded instead of the inputs."""
        options = dict(options)
        if inputs := options.pop("inputs", None):
            hashes = {name: self.upload(content) for name, content in inputs.items()}
            options["uploaded"] = {**(options.get("uploaded") or {}), **hashes}
        return options

    def _app(self, app: str | os.PathLike[str]) -> str:
        """The name or hash under which the coordinator knows an app; a file is published."""
        path = Path(app)
        if path.is_file():
            return self.publish(path)
        if isinstance(app, os.PathLike) or path.suffix == ".wasm":
            raise no_file(path)
        return str(app)

    def _text_of(self, answer: object, name: str) -> str:
        if not isinstance(answer, dict) or not isinstance(answer.get(name), str):
            raise NotUnderstood(f"the coordinator's answer has no `{name}`")
        return str(answer[name])


def check_window(window: int) -> None:
    """Raises ValueError if `window` is out of range."""
    if not 1 <= window <= WINDOW_MAX:
        raise ValueError(f"the window must be from 1 to {WINDOW_MAX}")


def words_of(element: object) -> tuple[object, ...]:
    """The words of one run of a map."""
    return tuple(element) if isinstance(element, (tuple, list)) else (element,)


def _word(argument: object) -> str:
    if isinstance(argument, (bytes, bytearray, memoryview)):
        raise TypeError("an argument is a word; give bytes as an input: inputs={'name': …}")
    if isinstance(argument, bool):
        return "true" if argument else "false"
    return str(argument)


def _bytes_of(content: Input) -> bytes:
    if isinstance(content, str):
        return content.encode()
    if isinstance(content, (bytes, bytearray, memoryview)):
        return bytes(content)
    if isinstance(content, os.PathLike):
        return Path(content).read_bytes()
    raise TypeError(f"an input is bytes, text, or the path of a file, not {type(content).__name__}")
