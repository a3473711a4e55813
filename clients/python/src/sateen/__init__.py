"""Submit runs to a Sateen grid, and collect their results.

`Client` is for ordinary programs and notebooks, `AsyncClient` for asyncio. Both speak the HTTP API of a coordinator and
need nothing but Python's standard library.
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
from ._http import VERSION as __version__
from ._run import Run
from ._status import Jobs, Progress, RunStatus

__all__ = [
    "AppError",
    "AsyncClient",
    "AsyncRun",
    "BadInput",
    "Cancelled",
    "Client",
    "Input",
    "JobFailed",
    "Jobs",
    "LimitExceeded",
    "Limits",
    "NotUnderstood",
    "Progress",
    "Refused",
    "Run",
    "RunFailed",
    "RunStatus",
    "SateenError",
    "Unable",
    "Unverified",
    "Unreachable",
    "__version__",
]
