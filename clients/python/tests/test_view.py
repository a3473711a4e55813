"""Runs in notebooks: the tree as boxes, the widget on a real grid, and a notebook that is run."""

from __future__ import annotations

import importlib.util
import os
import threading
import time
import unittest
from pathlib import Path
from typing import Any

from grid import Grid, app

from sateen import Run
from sateen._tree import Box, boxes, line

PACKAGE = Path(__file__).resolve().parents[1]


def has(*packages: str) -> bool:
    return all(importlib.util.find_spec(package) for package in packages)


def node(job: str, parent: str | None, state: str = "done", host: str = "ada", **more: Any) -> dict[str, Any]:
    return {"job": job, "parent": parent, "function": job, "state": state, "host_name": host, **more}


class Trees(unittest.TestCase):
    def test_a_job_is_as_wide_as_all_jobs_below_it(self) -> None:
        drawn = boxes([
            node("root", None, "running"),
            node("a", "root", work_s=1.23456),
            node("b", "root", host="bob"),
            node("c", "b"),
            node("d", "b", "lost"),
            node("e", "b", call="e(7)"),
        ])
        self.assertEqual(drawn.hosts, ["ada", "bob"])
        self.assertEqual(drawn.boxes[:4], [
            Box(0.0, 1.0, 0, 0, "running", "root, running, at ada"),
            Box(0.0, 0.25, 1, 0, "done", "a, done, at ada, 1.23 s of work"),
            Box(0.25, 0.75, 1, 1, "done", "b, done, at bob"),
            Box(0.25, 0.25, 2, 0, "done", "c, done, at ada"),
        ])
        self.assertEqual([box.label for box in drawn.boxes[4:]], ["d, lost, at ada", "e(7), done, at ada"])

    def test_what_is_too_small_to_be_seen_is_left_out(self) -> None:
        many = [node("root", None), *(node(f"j{number}", "root") for number in range(5_000))]
        self.assertEqual(len(boxes(many).boxes), 1)
        # Jobs of which the tree does not show those below count as many.
        many[1]["rolled"] = 5_000
        self.assertEqual([box.row for box in boxes(many).boxes], [0, 1])

    def test_any_tree_is_drawn(self) -> None:
        self.assertEqual(boxes([]), ([], []))
        orphan, circle = [node("a", "gone")], [node("a", "b"), node("b", "a")]
        again = [node("root", None), node("a", "root", "lost"), node("a", "root"), node("b", "a")]
        self.assertEqual((boxes(orphan).boxes, boxes(circle).boxes), ([], []))
        self.assertEqual([(box.row, box.state) for box in boxes(again).boxes],
                         [(0, "done"), (1, "lost"), (1, "done"), (2, "done")])
        chain = [node("0", None), *(node(str(depth), str(depth - 1)) for depth in range(1, 20_000))]
        self.assertEqual(max(box.row for box in boxes(chain).boxes), 39)


class OnAGrid(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.grid = Grid()
        cls.addClassCleanup(cls.grid.stop)

    def test_a_run_in_a_line(self) -> None:
        run = self.grid.client.submit(app("nqueens"), 12)
        self.assertRegex(line(run.wait()), r"^done after [0-9.]+ s, [12] hosts?, [0-9,]+ jobs?, [0-9.]+ s of work$")
        run = self.grid.client.submit(app("nqueens"), 28)
        self.assertRegex(line(run.wait()), "^failed after .*1 to 27")

    @unittest.skipIf(has("anywidget"), "anywidget is installed")
    def test_what_is_missing_is_named(self) -> None:
        with self.assertRaisesRegex(ModuleNotFoundError, "pip install anywidget"):
            Run(self.grid.client._http, 1).show()

    @unittest.skipUnless(has("anywidget"), "anywidget is not installed")
    def test_a_view_follows_its_run_to_the_end(self) -> None:
        run = self.grid.client.submit(app("nqueens"), 15)
        view = run.show(every_s=0.1)
        self.assertEqual(view.shown["title"], f"run {run.number}: nqueens 15")
        self.assertEqual(run.result(), "2279184")
        self.assertTrue(view._end.wait(20), "it asks for ever")
        self.assertEqual(view.shown["state"], "done")
        self.assertIn(" of work", view.shown["line"])
        self.assertEqual([box[:3] for box in view.shown["boxes"][:1]], [[0.0, 1.0, 0]])
        self.assertIn(len(view.shown["hosts"]), (1, 2))

    @unittest.skipUnless(has("anywidget"), "anywidget is not installed")
    def test_a_view_of_a_run_that_is_gone_says_so(self) -> None:
        view = Run(self.grid.client._http, 4711).show()
        self.assertIn("there is no run 4711", view.shown["problem"])
        self.assertTrue(view._end.is_set(), "it asks for ever")

    @unittest.skipUnless(has("anywidget"), "anywidget is not installed")
    def test_a_view_that_is_closed_asks_no_more(self) -> None:
        run = self.grid.client.submit(app("nqueens"), 17)
        self.addCleanup(run.cancel)
        name = f"sateen-run-{run.number}"
        view = run.show(every_s=0.1)
        self.assertIn(name, [thread.name for thread in threading.enumerate()])
        view.close()
        deadline_s = time.monotonic() + 20
        while name in [thread.name for thread in threading.enumerate()] and time.monotonic() < deadline_s:
            time.sleep(0.05)
        self.assertNotIn(name, [thread.name for thread in threading.enumerate()])
        self.assertFalse(run.status().is_over, "the run continues")

    @unittest.skipUnless(has("anywidget", "nbclient", "ipykernel"), "anywidget, nbclient or ipykernel is not installed")
    def test_in_a_notebook(self) -> None:
        import nbclient
        import nbformat

        cells = [
            f"import sateen\nrun = sateen.Client({self.grid.address!r}).submit({str(app('nqueens'))!r}, 14)\nrun.show()",
            "run.result()",
        ]
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "src")}
        nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute(env=environment)
        shown, result = (cell.outputs[-1].data for cell in notebook.cells)
        self.assertEqual(result["text/plain"], "'365596'")
        model = shown["application/vnd.jupyter.widget-view+json"]["model_id"]
        states = notebook.metadata["widgets"]["application/vnd.jupyter.widget-state+json"]["state"]
        self.assertIn("Draws a run", states[model]["state"]["_esm"])
        self.assertRegex(states[model]["state"]["shown"]["title"], "^run [0-9]+: nqueens 14$")


if __name__ == "__main__":
    unittest.main()
