"""The clients against a real coordinator and real hosts."""

from __future__ import annotations

import _thread
import asyncio
import os
import pickle
import signal
import tempfile
import threading
import time
import unittest
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import sateen
from grid import REPOSITORY, Grid, app

#: N-queens, OEIS A000170.
QUEENS = {4: "2", 6: "4", 8: "92", 9: "352", 10: "724"}
#: Takes hours.
LONG = 22


class WithGrid(unittest.TestCase):
    grid: Grid

    @classmethod
    def setUpClass(cls) -> None:
        cls.grid = Grid()
        cls.addClassCleanup(cls.grid.stop)
        cls.client = cls.grid.client

    def until(self, is_so, within_s: float = 20.0) -> None:
        deadline = time.monotonic() + within_s
        while not is_so():
            self.assertLess(time.monotonic(), deadline, "it takes too long")
            time.sleep(0.05)

    def unfinished(self) -> list[int]:
        return [run.run for run in self.client.runs(1000) if not run.is_over]


class Runs(WithGrid):
    def test_a_file_is_run(self) -> None:
        self.assertEqual(self.client.run(app("nqueens"), 10), "724")
        self.assertEqual(self.client.run(str(app("fib")), "20", function="plain"), "6765")
        # Under its name from now on.
        self.assertEqual(self.client.run("nqueens", 8), "92")

    def test_a_status_has_the_figures(self) -> None:
        run = self.client.submit(app("nqueens"), 9)
        status = run.wait(60)
        self.assertEqual((status.state, status.app, status.arguments), ("done", "nqueens", ("9",)))
        self.assertTrue(status.is_over and status.elapsed_s is not None and status.error is None)
        self.assertEqual(status.run, run.number)
        again = self.client.attach(run.number)
        self.assertEqual((again.status().module, again.result()), (status.module, "352"))
        self.assertIn(run.number, [listed.run for listed in self.client.runs()])

    def test_a_priority_is_one_of_three(self) -> None:
        run = self.client.submit(app("nqueens"), 4, priority="high")
        self.assertEqual((run.result(), run.status().priority), ("2", "high"))
        with self.assertRaises(sateen.Refused) as caught:
            self.client.submit("nqueens", 4, priority="urgent")
        self.assertIn("low, normal, high", str(caught.exception))

    def test_a_run_that_is_submitted_again_is_reused(self) -> None:
        def submitted(number: int, **options: object) -> tuple[str | bytes, sateen.RunStatus]:
            run = self.client.submit(app("nqueens"), number, **options)
            result = run.result(60)
            # Hosts report their last counts a moment after the end.
            self.until(lambda: run.status().raw["counted"] != "so_far")
            return result, run.status()

        result, first = submitted(11, reuse=True)
        self.assertEqual((result, first.reuse, first.earlier), ("2680", True, sateen.EarlierResults(0, 0.0)))
        again, second = submitted(11, reuse=True)
        assert second.earlier is not None
        self.assertEqual((again, second.state, second.earlier.jobs, second.jobs.executed), (result, "done", 1, 0))
        self.assertGreater(second.earlier.work_s, 0)
        # Only a run that asks for it.
        again, other = submitted(11)
        self.assertEqual((again, other.reuse, other.earlier), (result, False, None))
        with self.assertRaises(sateen.Refused) as caught:
            self.client.submit("nqueens", 11, reuse=True, trust="quorum=2")
        self.assertIn("reuse: ", str(caught.exception))

    def test_results_are_text_bytes_json_and_numbers(self) -> None:
        run = self.client.submit(app("nqueens"), 8)
        self.assertEqual((run.result_text(), run.result_bytes(), run.result_json()), ("92", b"92", 92))
        try:
            import numpy
        except ImportError:
            with self.assertRaises(ImportError):
                run.result_numpy()
        else:
            self.assertEqual(run.result_numpy("u1").tolist(), [ord("9"), ord("2")])
            with self.assertRaises(ValueError):
                run.result_numpy(numpy.float64)

    def test_inputs_are_bytes_text_and_files(self) -> None:
        path = REPOSITORY / "sample-apps/qap/data/nug12.dat"
        # QAPLIB: the least cost of nug12 is 578.
        for content in (path, path.read_bytes(), path.read_text()):
            result = self.client.run(app("qap"), inputs={"dat": content})
            self.assertEqual(str(result).split()[0], "578")
        uploaded = {"dat": self.client.upload(path)}
        self.assertEqual(str(self.client.run("qap", uploaded=uploaded)).split()[0], "578")

    def test_map_keeps_the_order(self) -> None:
        seen: list[int] = []
        numbers = [8, 4, 10, 6, 9] * 4
        results = list(self.client.map(app("nqueens"), numbers, window=5, progress=seen.append))
        self.assertEqual(results, [QUEENS[number] for number in numbers])
        self.assertEqual(seen, list(range(1, 21)))
        self.assertEqual(list(self.client.map("fib", [(10,), ["11"]], function="plain")), ["55", "89"])
        self.assertEqual(list(self.client.map("fib", [])), [])

    def test_a_map_that_is_left_leaves_no_runs(self) -> None:
        results = self.client.map(app("nqueens"), [6, *[LONG] * 10], window=4)
        self.assertEqual(next(results), "4")
        self.until(lambda: len(self.unfinished()) == 3)
        results.close()
        self.assertEqual(self.unfinished(), [])

    def test_a_map_whose_run_fails_leaves_no_runs(self) -> None:
        with self.assertRaises(sateen.BadInput):
            list(self.client.map(app("nqueens"), [28, *[LONG] * 10], window=4))
        self.assertEqual(self.unfinished(), [])

    def test_runs_come_as_they_end(self) -> None:
        long = self.client.submit(app("nqueens"), LONG)
        short = [self.client.submit("nqueens", 4 + index % 3) for index in range(80)]
        ended = self.client.as_completed([long, *short])
        self.assertEqual({next(ended).number for _ in short}, {run.number for run in short})
        long.cancel()
        self.assertEqual([run.number for run in ended], [long.number])
        self.assertIsInstance(long.exception(), sateen.Cancelled)

    def test_waiting_has_a_limit(self) -> None:
        run = self.client.submit(app("nqueens"), LONG)
        try:
            for wait in (run.wait, run.result):
                began = time.monotonic()
                with self.assertRaises(TimeoutError):
                    wait(0.2)
                self.assertLess(time.monotonic() - began, 5)
            with self.assertRaises(TimeoutError):
                list(self.client.as_completed([run], timeout_s=0.2))
        finally:
            self.assertEqual(run.cancel().run, run.number)
        run.wait(30)
        self.assertEqual(run.cancel().state, "cancelled")

    def test_a_run_that_is_interrupted_is_cancelled(self) -> None:
        def interrupt() -> None:
            self.until(self.unfinished)
            _thread.interrupt_main()

        # A program that a shell started in the background ignores interrupts.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        thread = threading.Thread(target=interrupt)
        thread.start()
        with self.assertRaises(KeyboardInterrupt):
            self.client.run(app("nqueens"), LONG)
        thread.join()
        self.assertEqual(self.unfinished(), [])

    def test_a_run_can_be_suspended(self) -> None:
        run = self.client.submit(app("nqueens"), LONG)
        try:
            self.until(lambda: run.status().state == "running")
            run.suspend()
            self.until(lambda: run.status().state == "suspended")
            run.resume()
            self.until(lambda: run.status().state == "running")
        finally:
            run.cancel()

    def test_progress_is_shown(self) -> None:
        class Bar:
            total, n, is_closed = None, 0, False

            def refresh(self) -> None:
                pass

            def close(self) -> None:
                self.is_closed = True

        bar = Bar()
        run = self.client.submit(app("nqueens"), 12).with_progress(bar, 0.05)
        progress = run.status().progress
        self.assertIsNotNone(progress)
        self.assertEqual((bar.n, bar.total, bar.is_closed), (progress.done, progress.total or None, True))
        self.assertGreater(bar.n, 0)


class WithReasons(unittest.TestCase):
    def assert_fails(self, start: Callable[[], object], kind: type[sateen.RunFailed]) -> sateen.RunFailed:
        """The error, which must be of this kind and survive a pickle: pools of processes carry errors in pickles."""
        with self.assertRaises(kind) as caught:
            start()
        error = caught.exception
        copy = pickle.loads(pickle.dumps(error))
        self.assertEqual((type(copy), str(copy), copy.job), (kind, str(error), error.job))
        return error


class Errors(WithGrid, WithReasons):
    def test_the_reason_has_a_type(self) -> None:
        limits = sateen.Limits(time_ms=300)
        cases = [
            (lambda: self.client.submit(app("nqueens"), 28), sateen.BadInput, 2),
            (lambda: self.client.submit("nqueens", LONG, limits=limits), sateen.LimitExceeded, 3),
        ]
        for submit, kind, code in cases:
            error = self.assert_fails(lambda: submit().result(60), kind)
            self.assertEqual(error.exit_code, code)
            self.assertIn(f"run {error.run.run}: ", str(error))

    def test_a_failed_job_is_named(self) -> None:
        try:
            module = app("conformance-c")
        except FileNotFoundError:
            self.skipTest("the app in C is not built")
        with self.assertRaises(sateen.JobFailed) as caught:
            self.client.run(module, function="fails")
        self.assertEqual((caught.exception.exit_code, caught.exception.job), (1, "sulk"))
        content = b"\x00bytes\xff"
        self.assertEqual(self.client.run(module, function="echo", inputs={"some": content}), content)

    def test_what_a_coordinator_refuses_says_why(self) -> None:
        with self.assertRaises(sateen.Refused) as caught:
            self.client.submit("there-is-none")
        self.assertIn("there-is-none", str(caught.exception))
        self.assertEqual(caught.exception.exit_code, 2)
        with self.assertRaises(sateen.Refused) as caught:
            self.client.run(app("nqueens"), "many")
        self.assertIn("`many`", str(caught.exception))
        with self.assertRaises(sateen.Refused) as caught:
            self.client.attach(987_654).result(1)
        self.assertEqual(caught.exception.status, 404)
        with tempfile.TemporaryDirectory() as folder:
            module = Path(folder) / "not.wasm"
            module.write_bytes(b"not a module")
            with self.assertRaises(sateen.Refused):
                self.client.submit(module)

    def test_wrong_arguments_are_found_before_anything_is_sent(self) -> None:
        before = len(self.client.runs(1000))
        with self.assertRaises(FileNotFoundError):
            self.client.submit("nowhere/none.wasm")
        with self.assertRaises(TypeError):
            self.client.submit(app("nqueens"), b"8")
        with self.assertRaises(TypeError):
            self.client.submit("nqueens", inputs={"x": 7})  # type: ignore[dict-item]
        with self.assertRaises(ValueError):
            self.client.map("nqueens", [1], window=0)
        self.assertEqual(len(self.client.runs(1000)), before)

    def test_addresses_are_checked(self) -> None:
        for address in ("ftp://grid", "http://", "http://grid:port", "http://a@b", "http://grid?x"):
            with self.assertRaises(ValueError, msg=address):
                sateen.Client(address)
        for address, url in (("grid:7700", "http://grid:7700"), ("https://grid/", "https://grid")):
            self.assertEqual(sateen.Client(address).url, url)
        with mock.patch.dict(os.environ, SATEEN_COORDINATOR=self.grid.address):
            self.assertEqual(sateen.Client().version(), sateen.__version__)
        with self.assertRaises(ValueError):
            sateen.Client(token="a\nb")

    def test_nobody_answers(self) -> None:
        began = time.monotonic()
        with sateen.Client("127.0.0.1:9", patience_s=0.3) as client, self.assertRaises(sateen.Unreachable):
            client.run("nqueens", 8)
        self.assertLess(time.monotonic() - began, 5)

    def test_something_else_answers(self) -> None:
        import http.server

        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"<html>")

            def log_message(self, *words: object) -> None:
                pass

        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Other) as server:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            with sateen.Client(f"127.0.0.1:{server.server_port}", patience_s=0.2) as client:
                for ask in (client.version, client.runs, client.attach(1).status):
                    with self.assertRaises(sateen.NotUnderstood):
                        ask()
                with self.assertRaises(sateen.Refused) as caught:
                    client.submit("nqueens", 8)
                self.assertIn("coordinator?", str(caught.exception))
            server.shutdown()


class OtherVersions(unittest.TestCase):
    def test_unknown_fields_are_kept_and_missing_ones_are_none(self) -> None:
        raw = {
            "run": 7, "app": {"hash": "ab", "name": "fib", "colour": "red"}, "function": "main",
            "state": "done", "jobs": {"spawned": 3, "teleported": 1}, "mood": "good",
        }
        status = sateen.RunStatus.read(raw)
        self.assertEqual((status.jobs.spawned, status.jobs.stolen, status.hosts), (3, 0, None))
        self.assertEqual((status.reuse, status.earlier), (False, None))
        self.assertEqual(status.raw["mood"], "good")

    def test_an_unknown_reason_is_still_a_failure(self) -> None:
        from sateen._errors import failure_of

        raw = {"run": 7, "app": {"hash": "ab", "name": "fib"}, "function": "main", "state": "failed"}
        self.assertIs(type(failure_of(sateen.RunStatus.read(raw))), sateen.Unable)
        for kind, expected in [
            ("job", sateen.JobFailed), ("app", sateen.AppError), ("input", sateen.BadInput),
            ("limit", sateen.LimitExceeded), ("unable", sateen.Unable), ("unverified", sateen.Unverified), ("boredom", sateen.RunFailed),
        ]:
            error = {"kind": kind, "message": "why", "job": "leaf", "backtrace": ["leaf"]}
            failure = failure_of(sateen.RunStatus.read({**raw, "error": error}))
            self.assertIs(type(failure), expected)


class Asyncio(WithGrid):
    def go(self, coroutine):
        return asyncio.run(coroutine)

    def test_everything_at_once(self) -> None:
        async def main() -> None:
            async with sateen.AsyncClient(self.grid.address) as client:
                name = str(app("nqueens"))
                results = await asyncio.gather(*(client.run(name, number) for number in (4, 6, 8)))
                self.assertEqual(results, ["2", "4", "92"])
                mapped = [result async for result in client.map(name, [8, 4, 9], window=2)]
                self.assertEqual(mapped, ["92", "2", "352"])
                runs = [await client.submit("nqueens", number) for number in (10, 4)]
                ended = {run.number async for run in client.as_completed(runs)}
                self.assertEqual(ended, {run.number for run in runs})
                self.assertEqual(await runs[0].result_json(), 724)
                reusing = await client.submit("nqueens", 6, reuse=True)
                self.assertTrue((await reusing.status()).reuse)
                self.assertEqual(await reusing.result(), "4")
                states = [status.state async for status in runs[0].watch()]
                self.assertEqual(states, ["done"])
                with self.assertRaises(sateen.BadInput):
                    await client.run("nqueens", 28)

        self.go(main())

    def test_the_loop_turns_while_runs_do(self) -> None:
        async def main() -> int:
            async with sateen.AsyncClient(self.grid.address) as client:
                run = await client.submit(app("nqueens"), LONG)
                wait = asyncio.ensure_future(run.wait())
                turns = 0
                while turns < 20:
                    await asyncio.sleep(0.01)
                    turns += 1
                self.assertFalse(wait.done())
                await run.cancel()
                self.assertEqual((await wait).state, "cancelled")
                return turns

        self.assertEqual(self.go(main()), 20)

    def test_a_task_that_is_cancelled_cancels_its_run(self) -> None:
        async def main() -> None:
            async with sateen.AsyncClient(self.grid.address) as client:
                task = asyncio.ensure_future(client.run(app("nqueens"), LONG))
                while not self.unfinished():
                    await asyncio.sleep(0.05)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertEqual(self.unfinished(), [])
                # Also one that is still being submitted.
                task = asyncio.ensure_future(client.run("nqueens", LONG))
                await asyncio.sleep(0)
                await asyncio.sleep(0)
                task.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await task
                self.assertEqual(self.unfinished(), [])

        self.go(main())


if __name__ == "__main__":
    unittest.main()
