"""Runs on this machine, with the real program."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path
from unittest import mock

import sateen
from grid import DIST, REPOSITORY, app
from sateen import _local, _samples
from test_client import LONG, WithReasons


class Here(WithReasons):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        program = {"SATEEN_PROGRAM": str(DIST / "sateen"), "XDG_CACHE_HOME": folder.name}
        environment = mock.patch.dict(os.environ, program)
        environment.start()
        self.addCleanup(environment.stop)

    def test_an_app_runs_without_a_grid(self) -> None:
        # OEIS A000170.
        self.assertEqual(sateen.run(app("nqueens"), 10), "724")
        self.assertEqual(sateen.run(str(app("fib")), "20", function="plain", threads=1), "6765")
        picture = sateen.run(app("raytracer"), 1)
        self.assertIsInstance(picture, bytes)
        self.assertTrue(bytes(picture).startswith(b"\x89PNG"))

    def test_inputs_are_bytes_text_and_files(self) -> None:
        path = REPOSITORY / "sample-apps/qap/data/nug12.dat"
        # QAPLIB: the least cost of nug12 is 578.
        for content in (path, path.read_bytes(), path.read_text()):
            self.assertEqual(str(sateen.run(app("qap"), inputs={"dat": content})).split()[0], "578")

    def test_the_reason_has_a_type(self) -> None:
        limits = sateen.Limits(time_ms=300)
        cases = [
            (lambda: sateen.run(app("nqueens"), 28), sateen.BadInput, "28"),
            (lambda: sateen.run(app("nqueens"), "many"), sateen.BadInput, "many"),
            (lambda: sateen.run(app("nqueens"), 9, function="missing"), sateen.BadInput, "missing"),
            (lambda: sateen.run(app("nqueens"), LONG, limits=limits), sateen.LimitExceeded, "0.3 s"),
            (lambda: sateen.run(app("nqueens"), 9, threads=0), sateen.BadInput, "threads"),
        ]
        for start, kind, says in cases:
            with self.subTest(says):
                error = self.assert_fails(start, kind)
                self.assertIn(says, str(error))
                self.assertFalse(str(error).startswith("sateen: "))
                self.assertIsNone(error.run)

    def test_a_failed_job_is_named(self) -> None:
        try:
            module = app("conformance-c")
        except FileNotFoundError:
            self.skipTest("the app in C is not built")
        error = self.assert_fails(lambda: sateen.run(module, function="fails"), sateen.JobFailed)
        self.assertEqual((error.job, error.exit_code), ("sulk", 1))
        self.assertIn("sulk", error.backtrace)

    def test_what_is_not_there_is_named(self) -> None:
        with self.assertRaisesRegex(FileNotFoundError, "none.wasm"):
            sateen.run("none.wasm")
        with self.assertRaises(TypeError):
            sateen.run(app("nqueens"), b"9")
        with mock.patch.dict(os.environ, {"SATEEN_PROGRAM": "/none/sateen"}):
            with self.assertRaisesRegex(sateen.ProgramMissing, "/none/sateen"):
                sateen.run(app("nqueens"), 9)
        with mock.patch.dict(os.environ, {"PATH": "/none"}), mock.patch.object(_local, "_NAME", "sateen-none"):
            os.environ.pop("SATEEN_PROGRAM")
            with self.assertRaisesRegex(sateen.ProgramMissing, "SATEEN_PROGRAM"):
                sateen.run(app("nqueens"), 9)

    def test_what_an_app_logs_is_passed_on(self) -> None:
        try:
            module = app("conformance-c")
        except FileNotFoundError:
            self.skipTest("the app in C is not built")
        logged = io.StringIO()
        with contextlib.redirect_stderr(logged):
            self.assertEqual(sateen.run(module, function="echo", inputs={"some": b"bytes"}), "bytes")
        self.assertIn("a line from C", logged.getvalue())

    def test_an_interrupted_run_is_stopped(self) -> None:
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)

        def children() -> bool:
            found = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "sateen run"], capture_output=True)
            return found.returncode == 0

        def interrupt() -> None:
            deadline = time.monotonic() + 20
            while not children() and time.monotonic() < deadline:
                time.sleep(0.05)
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            sateen.run(app("nqueens"), LONG)
        thread.join()
        self.assertFalse(children())


class Wheel(unittest.TestCase):
    def test_samples_are_found_by_name(self) -> None:
        with self.assertRaisesRegex(FileNotFoundError, "checkout"):
            sateen.sample("fib")
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(_samples, "__file__", f"{folder}/_samples.py"):
            apps = Path(folder) / "apps"
            apps.mkdir()
            (apps / "fib.wasm").touch()
            self.assertEqual(sateen.sample("fib"), apps / "fib.wasm")
            with self.assertRaisesRegex(FileNotFoundError, "no sample app fob; these are: fib"):
                sateen.sample("fob")
            with self.assertRaisesRegex(FileNotFoundError, r'no file fib.wasm; `sateen.sample\("fib"\)` is'):
                sateen.run("fib.wasm", 30)
            with self.assertRaisesRegex(FileNotFoundError, "no file fob.wasm; `sateen build` makes"):
                sateen.run("fob.wasm", 30)

    def test_the_wheels_program_comes_before_others(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            installed = Path(folder) / "sateen"
            installed.touch()
            with mock.patch("sysconfig.get_path", return_value=folder), mock.patch.dict(os.environ):
                os.environ.pop("SATEEN_PROGRAM", None)
                self.assertEqual(_local.program(), str(installed))


if __name__ == "__main__":
    unittest.main()
