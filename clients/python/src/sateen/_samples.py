"""The sample apps, which come with wheels."""

from __future__ import annotations

import os
from pathlib import Path


def no_file(app: str | os.PathLike[str]) -> FileNotFoundError:
    """The error that says that a module is missing, and where it may be had."""
    path = Path(app)
    is_sample = Path(__file__).with_name("apps").joinpath(path.name).is_file()
    what_to_do = f'`sateen.sample("{path.stem}")` is the sample app' if is_sample else "`sateen build` makes the module of an app"
    return FileNotFoundError(f"there is no file {path}; {what_to_do}")


def sample(name: str) -> Path:
    """The module of a sample app, which wheels have. Raises FileNotFoundError if there is none of this name."""
    folder = Path(__file__).with_name("apps")
    path = folder / f"{name}.wasm"
    if path.is_file():
        return path
    names = sorted(found.stem for found in folder.glob("*.wasm"))
    if not names:
        raise FileNotFoundError("the sample apps are part of Sateen's wheel, and this package was installed from a checkout")
    raise FileNotFoundError(f"there is no sample app {name}; these are: {', '.join(names)}")
