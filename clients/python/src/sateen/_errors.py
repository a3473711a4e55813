"""Errors. Each says what is wrong in a sentence; `exit_code` is the code with which the command `sateen` would exit."""

from __future__ import annotations

from ._status import RunStatus


class SateenError(Exception):
    """Anything that this package raises on its own account, except for wrong arguments (`ValueError`, `TypeError`)."""

    exit_code = 4


class Unreachable(SateenError, ConnectionError):
    """The coordinator does not answer, or the connection broke."""

    #: Whether the request has certainly not reached it.
    is_unsent = False


class NotUnderstood(SateenError):
    """Something answers that is not a coordinator, or one of a version with which this package cannot talk."""


class Refused(SateenError):
    """The coordinator refused a request."""

    #: When to send the request again, in seconds, if the coordinator says so: then it has not looked at it.
    retry_after_s: float | None = None

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        #: The HTTP status.
        self.status = status
        #: Why, and what to do.
        self.detail = detail
        of_grid = status >= 500 or status in (401, 403, 408, 429)
        self.exit_code = 4 if of_grid else 2

    def __reduce__(self) -> tuple[type[Refused], tuple[int, str]]:
        return type(self), (self.status, self.detail)


class RunFailed(SateenError):
    """A run is over and has no result."""

    exit_code = 1

    def __init__(
        self,
        message: str,
        run: RunStatus | None = None,
        backtrace: tuple[str, ...] = (),
        job: str | None = None,
    ) -> None:
        super().__init__(f"run {run.run}: {message}" if run else message)
        #: Why, in a sentence.
        self.message = message
        #: The run's last status; None for a run on this machine, of `sateen.run`.
        self.run = run
        error = run.error if run else None
        #: The job that failed, if one did.
        self.job: str | None = error.job if error else job
        #: The app's stack, innermost frame first.
        self.backtrace: tuple[str, ...] = error.backtrace if error else backtrace

    def __reduce__(self) -> tuple[type[RunFailed], tuple[str, RunStatus | None, tuple[str, ...], str | None]]:
        return type(self), (self.message, self.run, self.backtrace, self.job)


class JobFailed(RunFailed):
    """A job panicked or trapped."""


class AppError(RunFailed):
    """The app returned an error."""


class BadInput(RunFailed):
    """The app refused its arguments or inputs."""

    exit_code = 2


class LimitExceeded(RunFailed):
    """A limit was exceeded: memory, time, output and others."""

    exit_code = 3


class Unable(RunFailed):
    """No host of the grid could run it."""

    exit_code = 4


class Unverified(RunFailed):
    """Hosts do not agree on a result; only for runs that are checked (`trust`)."""

    exit_code = 5


class Cancelled(RunFailed):
    """It was cancelled."""

    exit_code = 130


_KINDS: dict[str, type[RunFailed]] = {
    "job": JobFailed,
    "app": AppError,
    "input": BadInput,
    "limit": LimitExceeded,
    "unable": Unable,
    "unverified": Unverified,
    "cancelled": Cancelled,
}


_CODES: dict[int, type[RunFailed]] = {
    kind.exit_code: kind for kind in (BadInput, LimitExceeded, Unable, Unverified, Cancelled)
}


def failure_here(code: int, message: str, job: str | None = None, backtrace: tuple[str, ...] = ()) -> RunFailed:
    """Why a run on this machine has no result: the exit code of the program, and what it says."""
    kind = JobFailed if job else _CODES.get(code, AppError)
    return kind(message, None, backtrace, job)


def failure_of(run: RunStatus) -> RunFailed | None:
    """Why a run that is over has no result; None if it has one or is not over."""
    if run.state == "cancelled":
        return Cancelled(run.error.message if run.error else "the run was cancelled", run)
    if run.state != "failed":
        return None
    if run.error is None:
        return Unable("the run failed and the coordinator does not say why", run)
    kind = _KINDS.get(run.error.kind, RunFailed)
    message = run.error.message
    if run.error.kind == "job" and run.error.job and not message.startswith("job `"):
        message = f"job `{run.error.job}` failed: {message}"
    return kind(message, run)
