"""Runs on this machine, without a grid."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ._client import Input, Limits, _bytes_of, _word
from ._errors import NotUnderstood, SateenError, Unable, failure_here
from ._samples import no_file

#: The environment variable that names the program.
PROGRAM = "SATEEN_PROGRAM"
#: How the program's own messages begin.
_SAYS = "sateen: "
_NAME = "sateen.exe" if os.name == "nt" else "sateen"


class ProgramMissing(SateenError, FileNotFoundError):
    """The program `sateen` is not on this machine."""


def run(
    app: str | os.PathLike[str],
    *arguments: object,
    function: str = "main",
    inputs: Mapping[str, Input] | None = None,
    threads: int | None = None,
    limits: Limits | None = None,
    strict_nan: bool = False,
) -> str | bytes:
    """Runs an app on this machine, and returns its result: text or bytes, as the app returned it. Needs no grid.

    The app runs in a sandbox, in a process of the program `sateen`: the one that the environment variable SATEEN_PROGRAM
    names, else that of the wheel, else the one on PATH. Ctrl-C or a notebook's stop button stops the run. Lines that the app
    logs are written to `sys.stderr`.

    Args:
        app: the file of a module (`.wasm`).
        arguments: the words of its command line; numbers and others are converted by `str`.
        function: its entry point.
        inputs: contents by name: bytes, text, or the path of a file.
        threads: number of workers; one for each core if None.
        limits: limits of the run.
        strict_nan: whether the NaN bits of float operations are the same on every machine.

    Raises the kind of RunFailed that says why there is no result.
    """
    if not Path(app).is_file():
        raise no_file(app)
    with tempfile.TemporaryDirectory(prefix="sateen-") as folder:
        command = [program(), "run", os.fspath(app), "--json", "--function", function]
        command += [f"--threads={threads}"] if threads is not None else []
        command += ["--strict-nan"] if strict_nan else []
        command += _flags(limits or Limits())
        for number, (name, content) in enumerate((inputs or {}).items()):
            path = os.fspath(content) if isinstance(content, os.PathLike) else _written(folder, number, content)
            command += ["--input", f"{name}={path}"]
        command += ["--", *(_word(argument) for argument in arguments)]
        return _result(*_run(command))


def program() -> str:
    """The path of the program `sateen`. Raises ProgramMissing if there is none."""
    if named := os.environ.get(PROGRAM):
        return named
    # Where wheels put programs: of a virtual environment, of the whole installation, of `pip install --user` or `--target`.
    folders = [sysconfig.get_path("scripts"), sysconfig.get_path("scripts", f"{os.name}_user")]
    folders.append(str(Path(__file__).resolve().parents[1] / "bin"))
    for folder in folders:
        path = Path(folder) / _NAME
        if path.is_file():
            return str(path)
    if found := shutil.which(_NAME):
        return found
    raise ProgramMissing(
        f"the program `sateen` is not here: install Sateen's wheel for this system, put the program on PATH, or name it in {PROGRAM}"
    )


def _run(command: list[str]) -> tuple[int, str, str]:
    """The exit code, what the program writes to stdout, and its own messages. What the app logs is passed on at once."""
    try:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    except OSError as error:
        raise ProgramMissing(f"{command[0]} cannot be started: {error.strerror}") from error
    said: list[str] = []

    def pass_on() -> None:
        assert process.stderr is not None
        for raw in process.stderr:
            line = raw.decode(errors="replace")
            if line.startswith(_SAYS):
                said.append(line.removeprefix(_SAYS).strip())
            else:
                # Notebooks show what Python writes, not what its children write.
                sys.stderr.write(line)

    listener = threading.Thread(target=pass_on, name="sateen-run", daemon=True)
    listener.start()
    try:
        assert process.stdout is not None
        written = process.stdout.read()
        code = process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        listener.join()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    return code, written.decode(errors="replace"), "; ".join(said)


def _result(code: int, written: str, said: str) -> str | bytes:
    try:
        answer = json.loads(written)
    except ValueError:
        if said:
            # It did not begin.
            raise failure_here(code, said) from None
        raise Unable(f"the program `sateen` ended with exit code {code}") from None
    if error := answer.get("error"):
        trace = tuple(str(frame) for frame in error.get("backtrace") or ())
        raise failure_here(int(error["exit_code"]), str(error["message"]), error.get("job"), trace)
    if said:
        sys.stderr.write(f"{_SAYS}{said}\n")
    if answer.get("result") is not None:
        return str(answer["result"])
    if answer.get("result_base64") is not None:
        return base64.b64decode(answer["result_base64"])
    raise NotUnderstood("the program `sateen` is of a version that this package does not know")


def _flags(limits: Limits) -> list[str]:
    flags: dict[str, Any] = {
        "--memory": limits.memory_bytes,
        "--stack": limits.stack_bytes,
        "--max-output": limits.output_bytes,
        "--max-shared": limits.shared_bytes,
        "--guard-limit": f"{limits.guard_wait_ms}ms" if limits.guard_wait_ms is not None else None,
        "--time-limit": f"{limits.time_ms}ms" if limits.time_ms is not None else None,
        "--cpu-limit": f"{limits.cpu_ms}ms" if limits.cpu_ms is not None else None,
    }
    return [f"{name}={value}" for name, value in flags.items() if value is not None]


def _written(folder: str, number: int, content: Input) -> str:
    path = Path(folder) / str(number)
    path.write_bytes(_bytes_of(content))
    return str(path)
