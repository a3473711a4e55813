"""The examples as a user runs them, and the types as a checker sees them."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import unittest
from pathlib import Path

from grid import Grid, app

PACKAGE = Path(__file__).resolve().parents[1]


class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.grid = Grid()
        cls.addClassCleanup(cls.grid.stop)

    def python(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE / "src"), "SATEEN_COORDINATOR": self.grid.address}
        command = [sys.executable, str(PACKAGE / "examples" / name), str(app("nqueens")), *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)

    def test_queens(self) -> None:
        ended = self.python("queens.py", "8", "10")
        self.assertEqual((ended.stdout, ended.returncode), ("8 queens: 92\n10 queens: 724\n", 0), ended.stderr)
        ended = self.python("queens.py", "6", "28")
        self.assertEqual((ended.stdout, ended.returncode), ("6 queens: 4\n", 2), ended.stderr)
        self.assertIn("1 to 27", ended.stderr)

    def test_first_come(self) -> None:
        ended = self.python("first_come.py", "8", "10")
        self.assertEqual(ended.returncode, 0, ended.stderr)
        lines = sorted(line.split(", on ")[0] for line in ended.stdout.splitlines())
        self.assertEqual(lines, ["10 queens: 724", "8 queens: 92"])


class Types(unittest.TestCase):
    @unittest.skipUnless(importlib.util.find_spec("mypy"), "mypy is not installed")
    def test_the_package_and_the_examples_have_types(self) -> None:
        checked = subprocess.run([sys.executable, "-m", "mypy"], cwd=PACKAGE, capture_output=True, text=True)
        self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)


if __name__ == "__main__":
    unittest.main()
