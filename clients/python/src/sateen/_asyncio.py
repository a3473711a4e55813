"""The client for asyncio. Threads of its own send its requests, so the event loop never waits."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ._client import TURN_S, WATCHED_MAX, WINDOW, Client, Input, Limits, check_window, words_of
from ._errors import SateenError
from ._run import Run
from ._status import RunStatus

if TYPE_CHECKING:
    import numpy

T = TypeVar("T")


class AsyncClient:
    """As `Client`, for asyncio: its methods are coroutines. At most 64 requests are under way at a time."""

    def __init__(
        self, coordinator: str | None = None, *, token: str | None = None, patience_s: float = 30.0
    ) -> None:
        self._client = Client(coordinator, token=token, patience_s=patience_s)
        self._threads = ThreadPoolExecutor(WATCHED_MAX, thread_name_prefix="sateen")

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections. Runs continue."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._client.close()

    @property
    def url(self) -> str:
        """The coordinator's address."""
        return self._client.url

    async def version(self) -> str:
        """As `Client.version`."""
        return await self._ask(self._client.version)

    async def publish(self, module: str | os.PathLike[str], name: str | None = None) -> str:
        """As `Client.publish`."""
        return await self._ask(self._client.publish, module, name)

    async def upload(self, content: Input) -> str:
        """As `Client.upload`."""
        return await self._ask(self._client.upload, content)

    async def submit(
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
    ) -> AsyncRun:
        """As `Client.submit`."""
        run = await self._ask(
            self._client.submit,
            app,
            *arguments,
            function=function,
            inputs=inputs,
            uploaded=uploaded,
            limits=limits,
            strict_nan=strict_nan,
            trust=trust,
            priority=priority,
            reuse=reuse,
        )
        return AsyncRun(self, run)

    async def run(self, app: str | os.PathLike[str], *arguments: object, **options: Any) -> str | bytes:
        """As `Client.run`; if the task is cancelled, so is the run."""
        submitted = asyncio.ensure_future(self.submit(app, *arguments, **options))
        try:
            run = await asyncio.shield(submitted)
        except asyncio.CancelledError:
            # The request is under way: the run must not stay behind.
            await asyncio.shield(_cancel(submitted))
            raise
        try:
            return await run.result()
        except SateenError:
            raise
        except BaseException:
            await asyncio.shield(run._cancelled())
            raise

    def attach(self, run: int) -> AsyncRun:
        """As `Client.attach`."""
        return AsyncRun(self, self._client.attach(run))

    async def runs(self, limit: int = 100) -> list[RunStatus]:
        """As `Client.runs`."""
        return await self._ask(self._client.runs, limit)

    async def map(
        self,
        app: str | os.PathLike[str],
        arguments: Iterable[object],
        *,
        window: int = WINDOW,
        progress: Callable[[int], None] | None = None,
        **options: Any,
    ) -> AsyncIterator[str | bytes]:
        """As `Client.map`."""
        check_window(window)
        app, options = await self._ask(self._client._sent_once, app, options)

        async def one(element: object) -> str | bytes:
            return await self.run(app, *words_of(element), **options)

        under_way: list[asyncio.Task[str | bytes]] = []
        done = 0
        elements = iter(arguments)
        is_exhausted = False
        try:
            while True:
                while not is_exhausted and len(under_way) < window:
                    try:
                        under_way.append(asyncio.ensure_future(one(next(elements))))
                    except StopIteration:
                        is_exhausted = True
                if not under_way:
                    return
                result = await under_way[0]
                under_way.pop(0)
                done += 1
                if progress:
                    progress(done)
                yield result
        finally:
            for task in under_way:
                task.cancel()
            await asyncio.gather(*under_way, return_exceptions=True)

    async def as_completed(self, runs: Iterable[AsyncRun]) -> AsyncIterator[AsyncRun]:
        """As `Client.as_completed`. For a limit of time, use `asyncio.timeout`."""
        waits = {asyncio.ensure_future(run.wait()): run for run in runs}
        try:
            while waits:
                ended, _ = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                for wait in ended:
                    run = waits.pop(wait)
                    wait.result()
                    yield run
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)

    async def _ask(self, what: Callable[..., T], *arguments: Any, **options: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(what, *arguments, **options))


class AsyncRun:
    """As `Run`, for asyncio."""

    def __init__(self, client: AsyncClient, run: Run) -> None:
        self._client = client
        self._run = run

    def __repr__(self) -> str:
        return repr(self._run).replace("sateen.Run", "sateen.AsyncRun", 1)

    @property
    def number(self) -> int:
        """Its number."""
        return self._run.number

    async def status(self) -> RunStatus:
        """As `Run.status`."""
        return await self._client._ask(self._run.status)

    async def wait(self) -> RunStatus:
        """As `Run.wait`. For a limit of time, use `asyncio.timeout`."""
        stop = threading.Event()
        try:
            while True:
                # A moment each, so that more runs than threads are waited for in turn.
                status = await self._client._ask(self._run._wait_once, TURN_S, stop)
                if status.is_over:
                    return status
        finally:
            stop.set()

    async def result(self) -> str | bytes:
        """As `Run.result`."""
        await self.wait()
        return await self._client._ask(self._run.result)

    async def result_bytes(self) -> bytes:
        """As `Run.result_bytes`."""
        await self.wait()
        return await self._client._ask(self._run.result_bytes)

    async def result_text(self) -> str:
        """As `Run.result_text`."""
        await self.wait()
        return await self._client._ask(self._run.result_text)

    async def result_json(self) -> Any:
        """As `Run.result_json`."""
        await self.wait()
        return await self._client._ask(self._run.result_json)

    async def result_numpy(self, dtype: Any = "<f8") -> numpy.ndarray[Any, Any]:
        """As `Run.result_numpy`."""
        await self.wait()
        return await self._client._ask(self._run.result_numpy, dtype)

    async def exception(self) -> Exception | None:
        """As `Run.exception`."""
        await self.wait()
        return await self._client._ask(self._run.exception)

    async def cancel(self) -> RunStatus:
        """As `Run.cancel`."""
        return await self._client._ask(self._run.cancel)

    async def suspend(self) -> RunStatus:
        """As `Run.suspend`."""
        return await self._client._ask(self._run.suspend)

    async def resume(self) -> RunStatus:
        """As `Run.resume`."""
        return await self._client._ask(self._run.resume)

    async def watch(self, every_s: float = 0.5) -> AsyncIterator[RunStatus]:
        """As `Run.watch`."""
        while True:
            status = await self._client._ask(self._run._wait_once, every_s, None)
            yield status
            if status.is_over:
                return

    async def _cancelled(self) -> None:
        """Cancels it, and leaves what ends the caller's work to be raised."""
        try:
            await self.cancel()
        except SateenError:
            pass


async def _cancel(submitted: asyncio.Future[AsyncRun]) -> None:
    """Cancels a run that is still being submitted."""
    try:
        run = await submitted
    except Exception:
        return
    await run._cancelled()
