"""The status of a run. Fields that a coordinator of another version leaves out are None."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_OVER = ("done", "failed", "cancelled")


@dataclass(frozen=True)
class Progress:
    """The progress that the root job reports."""

    done: int
    #: 0 if it is not known.
    total: int


@dataclass(frozen=True)
class Jobs:
    """What became of a run's jobs."""

    spawned: int = 0
    exposed: int = 0
    executed: int = 0
    stolen: int = 0
    redone: int = 0
    reused: int = 0
    adopted: int = 0
    aborted: int = 0


@dataclass(frozen=True)
class EarlierResults:
    """Results of earlier runs that a run used."""

    #: Jobs that were not computed because of them; jobs below those are not counted.
    jobs: int
    #: Processor time that these results took when they were computed; it is not part of the run's `work_s`.
    work_s: float


@dataclass(frozen=True)
class Failure:
    """Why a run has no result, as the coordinator says it."""

    kind: str
    message: str
    job: str | None
    backtrace: tuple[str, ...]


@dataclass(frozen=True)
class RunStatus:
    """A run at one moment."""

    run: int
    app: str
    #: blake3 of the module.
    module: str
    function: str
    arguments: tuple[str, ...]
    #: `queued`, `running`, `suspending`, `suspended`, `done`, `failed` or `cancelled`.
    state: str
    #: Why nothing happens, if nothing does.
    waiting_for: str | None
    elapsed_s: float | None
    #: Processor time in the app, of all hosts.
    work_s: float | None
    hosts: int | None
    threads: int | None
    jobs: Jobs
    #: The name of the token with which it was submitted, if there was one.
    submitter: str | None
    #: Which runs of one submitter get more: low, normal or high.
    priority: str
    #: The part of each host's workers that it is due while all runs have work enough; nothing unless it is running.
    share: float | None
    #: Whether it uses results of its submitter's earlier runs, and its own are kept for later ones.
    reuse: bool
    #: None of a run without `reuse`.
    earlier: EarlierResults | None
    progress: Progress | None
    error: Failure | None
    #: The whole object, with what this version of the package does not know.
    raw: Mapping[str, Any]

    @property
    def is_over(self) -> bool:
        """Whether it has ended, with a result or without."""
        return self.state in _OVER

    @classmethod
    def read(cls, raw: object) -> RunStatus:
        """From JSON. Raises ValueError, KeyError or TypeError if that is not a run."""
        if not isinstance(raw, dict):
            raise TypeError("an object is expected")
        app = raw["app"]
        progress = raw.get("progress")
        error = raw.get("error")
        earlier = raw.get("earlier")
        counts = raw.get("jobs") or {}
        return cls(
            run=int(raw["run"]),
            app=str(app["name"]),
            module=str(app["hash"]),
            function=str(raw["function"]),
            arguments=tuple(str(word) for word in raw.get("arguments") or ()),
            state=str(raw["state"]),
            waiting_for=raw.get("waiting_for"),
            elapsed_s=raw.get("elapsed_s"),
            work_s=raw.get("work_s"),
            hosts=raw.get("hosts"),
            threads=raw.get("threads"),
            jobs=Jobs(**{name: int(counts.get(name) or 0) for name in Jobs.__dataclass_fields__}),
            submitter=raw.get("submitter"),
            priority=str(raw.get("priority") or "normal"),
            share=raw.get("share"),
            reuse=bool(raw.get("reuse")),
            earlier=EarlierResults(int(earlier["jobs"]), float(earlier["work_s"])) if earlier else None,
            progress=Progress(int(progress["done"]), int(progress["total"])) if progress else None,
            error=Failure(
                kind=str(error["kind"]),
                message=str(error["message"]),
                job=error.get("job"),
                backtrace=tuple(str(frame) for frame in error.get("backtrace") or ()),
            )
            if error
            else None,
            raw=raw,
        )
