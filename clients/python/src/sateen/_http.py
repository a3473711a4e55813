"""Requests to a coordinator over connections that are kept. Any number of threads may use one transport."""

from __future__ import annotations

import http.client
import json
import select
import socket
import ssl
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from email.message import Message
from typing import Any
from urllib.parse import quote

from ._credentials import Address, Credentials
from ._errors import NotUnderstood, Refused, Unreachable

#: The version of this package, which is that of the coordinator that it was made for.
VERSION = "0.1.0"
#: Maximum time to connect, in seconds.
CONNECT_S = 5.0
#: Maximum silence during a small request, in seconds.
SHORT_S = 30.0
#: Maximum silence during a request that carries a module, an input or a result, in seconds.
BULK_S = 600.0
#: Maximum bytes of an answer in JSON.
JSON_BYTES_MAX = 64 << 20
#: Maximum bytes of a result.
RESULT_BYTES_MAX = 4 << 30
#: Maximum bytes of a message about an error.
PROBLEM_BYTES_MAX = 64 << 10
#: Maximum connections that are kept without a request.
IDLE_MAX = 64
#: Bounds of the time before a request is sent again, in seconds.
AGAIN_S = (0.05, 2.0)


@dataclass(frozen=True)
class Answer:
    """A successful answer."""

    body: bytes
    content_type: str

    def json(self) -> Any:
        """Its value."""
        try:
            return json.loads(self.body)
        except ValueError as error:
            raise NotUnderstood("the answer is not JSON; is this address that of a coordinator?") from error


class Transport:
    """Sends requests to one coordinator.

    A coordinator that is busy has not looked at a request, which is then sent again. One that does not answer may be
    restarted: requests that change nothing are sent again. Both for `patience_s` seconds at most.
    """

    def __init__(self, address: Address, credentials: Credentials, patience_s: float) -> None:
        self.address = address
        self._patience_s = patience_s
        self._headers = {"User-Agent": f"sateen-python/{VERSION}", "Accept": "application/json, */*"}
        if credentials.token:
            self._headers["Authorization"] = f"Bearer {credentials.token}"
        self._tls: ssl.SSLContext | None = None
        if address.is_tls:
            self._tls = ssl.create_default_context(cadata=credentials.authority)
        self._idle: list[http.client.HTTPConnection] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def close(self) -> None:
        """Closes the connections that no request uses; others are closed after their requests."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def request(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        content_type: str = "application/json",
        *,
        within_s: float = SHORT_S,
        bytes_max: int = JSON_BYTES_MAX,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Answer:
        """The answer to a request. Raises Refused, Unreachable or NotUnderstood."""
        began = time.monotonic()
        again_s = AGAIN_S[0]
        # PUT names what it puts by its hash, so it may be repeated.
        changes_nothing = method in ("GET", "HEAD", "PUT")
        while True:
            try:
                return self._once(method, path, body, content_type, within_s, bytes_max)
            except Refused as refused:
                if refused.status != 503 or refused.retry_after_s is None:
                    raise
                error: Refused | Unreachable = refused
                pause_s = max(again_s, min(refused.retry_after_s, AGAIN_S[1]))
            except Unreachable as unreachable:
                if not changes_nothing and not unreachable.is_unsent:
                    raise
                error, pause_s = unreachable, again_s
            if time.monotonic() - began + pause_s > self._patience_s or is_stopped():
                raise error
            time.sleep(pause_s)
            again_s = min(again_s * 2, AGAIN_S[1])

    def _once(
        self, method: str, path: str, body: bytes | None, content_type: str, within_s: float, bytes_max: int
    ) -> Answer:
        connection = self._connection()
        headers = dict(self._headers)
        if body is not None:
            headers["Content-Type"] = content_type
        is_kept = False
        try:
            assert connection.sock is not None
            connection.sock.settimeout(within_s)
            connection.request(method, self.address.prefix + path, body, headers)
            response = connection.getresponse()
            is_good = 200 <= response.status < 300
            limit = bytes_max if is_good else PROBLEM_BYTES_MAX
            # One byte more than allowed shows that there is more.
            content = response.read(limit + 1) if method != "HEAD" else response.read()
            if is_good and len(content) > limit:
                raise NotUnderstood(f"an answer has more than {limit} bytes")
            is_kept = response.isclosed() and not response.will_close
            if not is_good:
                raise _refused(response.status, response.headers, content[:PROBLEM_BYTES_MAX])
            return Answer(content, response.headers.get_content_type())
        except (OSError, http.client.HTTPException) as error:
            raise self._unreachable(error) from error
        finally:
            self._give_back(connection, is_kept)

    def _connection(self) -> http.client.HTTPConnection:
        """One that is kept, or a new one."""
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                # Whatever can be read now is the coordinator's end of the connection.
                if connection.sock is not None and not select.select([connection.sock], [], [], 0)[0]:
                    return connection
                connection.close()
        connection = self._new()
        try:
            connection.connect()
            assert connection.sock is not None
            connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError as error:
            connection.close()
            if isinstance(error, ssl.SSLCertVerificationError):
                # No certificate becomes valid by waiting.
                raise NotUnderstood(f"the certificate of {self.address.url} is not trusted: {error}") from error
            unreachable = self._unreachable(error)
            unreachable.is_unsent = True
            raise unreachable from error
        return connection

    def _new(self) -> http.client.HTTPConnection:
        host, port = self.address.host, self.address.port
        if self._tls is not None:
            return http.client.HTTPSConnection(host, port, timeout=CONNECT_S, context=self._tls)
        return http.client.HTTPConnection(host, port, timeout=CONNECT_S)

    def _give_back(self, connection: http.client.HTTPConnection, is_kept: bool) -> None:
        with self._lock:
            if is_kept and not self._is_closed and len(self._idle) < IDLE_MAX:
                self._idle.append(connection)
                return
        connection.close()

    def _unreachable(self, error: Exception) -> Unreachable:
        what = "does not answer in time" if isinstance(error, TimeoutError) else f"cannot be reached: {error}"
        return Unreachable(f"the coordinator at {self.address.url} {what}")


def _refused(status: int, headers: Message, content: bytes) -> Refused:
    try:
        detail = json.loads(content)["detail"]
        if not isinstance(detail, str):
            raise TypeError("not a sentence")
    except (ValueError, KeyError, TypeError):
        text = content[:200].decode(errors="replace").strip()
        detail = f"status {status}: {text or 'without a reason'}; is this address that of a coordinator?"
    refused = Refused(status, detail)
    try:
        refused.retry_after_s = float(headers.get("Retry-After", ""))
    except ValueError:
        pass
    return refused


def segment(text: str) -> str:
    """Text as one segment of a path."""
    encoded = quote(text, safe="-._~")
    # A segment of dots only would go to the parent.
    return encoded.replace(".", "%2E") if not encoded.strip(".") else encoded
