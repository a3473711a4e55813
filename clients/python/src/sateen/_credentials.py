"""The address of a coordinator, its token, and the authority that is trusted for it.

Like the command `sateen`: a token that is given, that of SATEEN_TOKEN, or that of the last `sateen login`.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT = "http://127.0.0.1:7700"
_EXPECTED = "expected the address of a coordinator, for example, http://127.0.0.1:7700 or grid:7700"


@dataclass(frozen=True)
class Address:
    """Where a coordinator is."""

    url: str
    is_tls: bool
    host: str
    port: int
    #: What precedes the paths of the API; mostly empty.
    prefix: str

    @classmethod
    def parse(cls, text: str) -> Address:
        """Like `http://HOST:PORT`, or just `HOST:PORT`. Raises ValueError for anything else."""
        url = (text if "://" in text else f"http://{text}").rstrip("/")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError as error:
            raise ValueError(f"{text!r}: {_EXPECTED}") from error
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment or parts.username:
            raise ValueError(f"{text!r}: {_EXPECTED}")
        is_tls = parts.scheme == "https"
        return cls(url, is_tls, parts.hostname, port or (443 if is_tls else 80), parts.path)


@dataclass(frozen=True)
class Credentials:
    """What is sent to a coordinator, and trusted of it."""

    token: str | None = None
    #: A certificate in PEM.
    authority: str | None = None


def credentials_for(address: Address, token: str | None) -> Credentials:
    """Those that were given, or else those of the environment and the last login."""
    kept = _kept(address)
    given = token or os.environ.get("SATEEN_TOKEN") or kept.token
    if given is not None:
        given = given.strip()
        if not given.isascii() or any(not sign.isprintable() or sign == " " for sign in given):
            raise ValueError("the token has characters that no token has")
    return Credentials(given or None, kept.authority)


def _kept(address: Address) -> Credentials:
    folder = _folder()
    if folder is None:
        return Credentials()
    name = "".join(_letter(byte) for byte in address.url.encode())
    path = folder / "credentials" / f"{name}.json"
    try:
        kept = json.loads(path.read_text())
        return Credentials(kept.get("token"), kept.get("authority"))
    except FileNotFoundError:
        return Credentials()
    except (OSError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} cannot be used: {error}; log in again with `sateen login`") from error


def _letter(byte: int) -> str:
    sign = chr(byte)
    if sign.isascii() and (sign.isalnum() or sign in ".-"):
        return sign.lower()
    return f"_{byte:02x}"


def _folder() -> Path | None:
    if named := os.environ.get("SATEEN_CONFIG_DIR"):
        return Path(named)
    if base := os.environ.get("XDG_CONFIG_HOME"):
        return Path(base) / "sateen"
    try:
        return Path.home() / ".config" / "sateen"
    except RuntimeError:
        return None
