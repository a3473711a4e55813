"""Runs as `concurrent.futures`, on a real grid."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
import unittest
from pathlib import Path
from unittest import mock

import sateen
from grid import REPOSITORY, app
from test_client import LONG, QUEENS, WithGrid


class Executors(WithGrid):
    def executor(self, **options: object) -> sateen.Executor:
        return sateen.Executor(self.client, **options)

    def test_futures_have_results_and_reasons(self) -> None:
        with self.executor() as executor:
            queens = executor.submit(app("nqueens"), 8)
            fib = executor.submit(app("fib"), 20, function="plain")
            bad = executor.submit("nqueens", 28)
            self.assertEqual((queens.result(60), fib.result(60)), ("92", "6765"))
            self.assertIsInstance(bad.exception(60), sateen.BadInput)
        self.assertEqual((queens.done(), queens.running(), queens.cancelled()), (True, False, False))
        self.assertEqual(queens.run.status().arguments, ("8",))
        self.assertFalse(queens.cancel())
        with self.assertRaises(RuntimeError):
            executor.submit("nqueens", 8)

    def test_map_wait_and_as_completed_work(self) -> None:
        numbers = [8, 4, 10, 6, 9] * 3
        with self.executor(max_workers=4) as executor:
            self.assertEqual(list(executor.map(app("nqueens"), numbers)), [QUEENS[number] for number in numbers])
            futures = {executor.submit("nqueens", number): number for number in (4, 9, 6)}
            for future in concurrent.futures.as_completed(futures, timeout=60):
                self.assertEqual(future.result(), QUEENS[futures[future]])
            done = concurrent.futures.wait(futures, timeout=10)
            self.assertEqual((done.done, done.not_done), (set(futures), set()))

    def test_a_run_that_is_under_way_can_be_cancelled(self) -> None:
        with self.executor(max_workers=1) as executor:
            first, waiting = (executor.submit(app("nqueens"), LONG) for _ in range(2))
            self.until(first.running)
            self.assertFalse(waiting.running())
            self.assertTrue(waiting.cancel() and first.cancel())
            done = concurrent.futures.wait([first, waiting], timeout=30)
            self.assertEqual((done.done, done.not_done), ({first, waiting}, set()))
            with self.assertRaises(concurrent.futures.CancelledError):
                first.result()
        self.assertIsNone(waiting.run)
        self.assertEqual(first.run.wait(30).state, "cancelled")
        self.assertEqual(self.unfinished(), [])

    def test_no_more_runs_than_allowed_are_under_way(self) -> None:
        most = 0
        with self.executor(max_workers=3) as executor:
            futures = [executor.submit(app("nqueens"), 9) for _ in range(20)]
            while not all(future.done() for future in futures):
                most = max(most, len(self.unfinished()))
                time.sleep(0.01)
        self.assertLessEqual(most, 3)
        self.assertEqual({future.result() for future in futures}, {"352"})

    def test_a_block_that_is_left_by_an_error_leaves_no_runs(self) -> None:
        class Left(Exception):
            pass

        with self.assertRaises(Left), self.executor(max_workers=2) as executor:
            futures = [executor.submit(app("nqueens"), LONG) for _ in range(4)]
            self.until(lambda: sum(future.running() for future in futures) == 2)
            raise Left
        self.assertTrue(all(future.cancelled() for future in futures))
        self.assertEqual(self.unfinished(), [])

    def test_runs_that_wait_can_be_cancelled_at_the_end(self) -> None:
        executor = self.executor(max_workers=1)
        first = executor.submit(app("nqueens"), 16)
        waiting = executor.submit("nqueens", LONG)
        self.until(lambda: first.run is not None)
        executor.shutdown(cancel_futures=True)
        self.assertEqual((first.result(0), waiting.cancelled()), ("14772512", True))

    def test_a_file_is_published_once_and_again_when_it_changes(self) -> None:
        with self.executor() as executor, mock.patch.object(
            self.client, "publish", wraps=self.client.publish
        ) as publish:
            list(executor.map(app("nqueens"), [4] * 10))
            self.assertEqual(publish.call_count, 1)
            with self.subTest("changed"):
                copy = Path(self.grid.folder) / "app.wasm"
                for name, answer in (("fib", "55"), ("nqueens", "724")):
                    copy.write_bytes(app(name).read_bytes())
                    self.assertEqual(executor.submit(copy, 10).result(60), answer)

    def test_options_hold_for_all_runs(self) -> None:
        with self.executor(limits=sateen.Limits(time_ms=300)) as executor:
            self.assertIsInstance(executor.submit(app("nqueens"), LONG).exception(60), sateen.LimitExceeded)
            other = executor.submit("nqueens", 9, limits=sateen.Limits(time_ms=60_000))
            self.assertEqual(other.result(60), "352")
        with self.assertRaises(ValueError):
            self.executor(max_workers=0)

    def test_asyncio_can_wait_for_futures(self) -> None:
        async def both() -> list[str | bytes]:
            with self.executor() as executor:
                futures = (executor.submit(app("nqueens"), number) for number in (8, 9))
                return await asyncio.gather(*map(asyncio.wrap_future, futures))

        self.assertEqual(asyncio.run(both()), ["92", "352"])

    def test_an_unreachable_coordinator_is_an_error_of_the_future(self) -> None:
        client = sateen.Client("http://127.0.0.1:1", patience_s=0.1)
        with sateen.Executor(client) as executor:
            self.assertIsInstance(executor.submit("nqueens", 8).exception(60), sateen.Unreachable)

    def test_only_its_own_connections_are_closed(self) -> None:
        with (
            mock.patch.dict("os.environ", {"SATEEN_COORDINATOR": self.grid.address}),
            mock.patch.object(sateen.Client, "close", autospec=True) as close,
        ):
            for executor, closed in ((self.executor(), 0), (sateen.Executor(), 1)):
                with executor:
                    self.assertEqual(executor.submit(app("nqueens"), 8).result(60), "92")
                self.assertEqual(close.call_count, closed)

    def test_inputs_of_the_executor_are_uploaded_once(self) -> None:
        path = REPOSITORY / "sample-apps/qap/data/nug12.dat"
        with mock.patch.object(self.client, "upload", wraps=self.client.upload) as upload:
            with self.executor(inputs={"dat": path}) as executor:
                results = [executor.submit(app("qap")) for _ in range(4)]
                # QAPLIB: the least cost of nug12 is 578.
                self.assertEqual({str(result.result(60)).split()[0] for result in results}, {"578"})
        self.assertEqual(upload.call_count, 1)


if __name__ == "__main__":
    unittest.main()
