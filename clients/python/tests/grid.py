"""A grid of real processes on loopback, for tests: a coordinator and two hosts of one thread each."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import sateen

REPOSITORY = Path(__file__).resolve().parents[3]
#: Where `cargo xtask build` puts the programs and the apps.
DIST = Path(os.environ.get("SATEEN_DIST", REPOSITORY / "dist"))
#: Maximum time for anything to start, in seconds.
SOON_S = 30.0


def app(name: str) -> Path:
    """The module of a sample app, or of a test's."""
    for folder in ("apps", "tests"):
        path = DIST / folder / f"{name}.wasm"
        if path.is_file():
            return path
    raise FileNotFoundError(f"{name}.wasm is not below {DIST}: run `cargo xtask build` first")


class Grid:
    """The processes, and a client."""

    def __init__(self, hosts: int = 2, coordinator_words: tuple[str, ...] = ()) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="sateen-python-"))
        self._processes: list[subprocess.Popen[bytes]] = []
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.client = sateen.Client(self.address)
        try:
            self._start("sateen-coordinator", "--listen", self.address, *coordinator_words)
            self._until(lambda: self.client.version() != "")
            for number in range(hosts):
                self._start("sateen-host", "--coordinator", f"http://{self.address}", "--threads", "1",
                            "--priority", "normal", "--dedicated", "--page", "off", name=f"host{number}")
            self._until(lambda: len(self._hosts()) == hosts)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Kills everything."""
        self.client.close()
        for process in reversed(self._processes):
            process.kill()
        for process in self._processes:
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _hosts(self) -> list[object]:
        hosts = self.client._http.request("GET", "/api/v1/hosts").json()
        return [host for host in hosts if host["connected"]]

    def _start(self, program: str, *words: str, name: str = "coordinator") -> None:
        log = (self.folder / f"{name}.log").open("wb")
        command = [str(DIST / program), "--data-dir", str(self.folder / name), *words]
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.folder / "cache"), "HOME": str(self.folder)}
        with log:
            process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, env=environment)
        self._processes.append(process)

    def _until(self, is_so: object) -> None:
        assert callable(is_so)
        deadline = time.monotonic() + SOON_S
        while True:
            try:
                if is_so():
                    return
                error: Exception | None = None
            except sateen.Unreachable as unreachable:
                error = unreachable
            if time.monotonic() > deadline or any(process.poll() is not None for process in self._processes):
                logs = "".join(path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.log"))
                raise RuntimeError(f"the grid does not start: {error}\n{logs}")
            time.sleep(0.05)
