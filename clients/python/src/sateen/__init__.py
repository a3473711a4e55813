"""Run apps of Sateen on this machine, or submit them to a grid and collect their results.

`run` needs no grid. `Client` is for ordinary programs and notebooks, `AsyncClient` for asyncio, and `Executor` for programs
that use `concurrent.futures`. These speak the HTTP API of a coordinator and need nothing but Python's standard library.
"""

from ._asyncio import AsyncClient, AsyncRun
from ._client import Client, Input, Limits
from ._errors import (
    AppError,
    BadInput,
    Cancelled,
    JobFailed,
    LimitExceeded,
    NotUnderstood,
    Refused,
    RunFailed,
    SateenError,
    Unable,
    Unverified,
    Unreachable,
)
from ._executor import Executor, RunFuture
from ._http import VERSION as __version__
from ._local import ProgramMissing, run
from ._run import Run
from ._samples import sample
from ._status import EarlierResults, Jobs, Progress, RunStatus

__all__ = [
    "AppError",
    "AsyncClient",
    "AsyncRun",
    "BadInput",
    "Cancelled",
    "Client",
    "EarlierResults",
    "Executor",
    "Input",
    "JobFailed",
    "Jobs",
    "LimitExceeded",
    "Limits",
    "NotUnderstood",
    "ProgramMissing",
    "Progress",
    "Refused",
    "Run",
    "RunFailed",
    "RunFuture",
    "RunStatus",
    "SateenError",
    "Unable",
    "Unverified",
    "Unreachable",
    "__version__",
    "run",
    "sample",
]
