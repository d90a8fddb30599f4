"""Git over HTTP on loopback, as syncers reach a repository: git's own CGI program behind a server.

It only gives; nothing can be pushed to it.
"""

from __future__ import annotations

import os
import subprocess
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread


class GitServer:
    """Serves all bare repositories of a folder, from its construction until `stop`."""

    def __init__(self, folder: Path) -> None:
        handler = type("Handler", (_Handler,), {"folder": folder})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def url(self, repository: str) -> str:
        """Where a repository of the folder is."""
        return f"http://127.0.0.1:{self._server.server_port}/{repository}"

    def stop(self) -> None:
        """Close the port; requests that are being answered are answered first."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    """One request: git-http-backend's environment is CGI's (RFC 3875), and so is its answer."""

    protocol_version = "HTTP/1.1"
    folder: Path

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        self._answer(self.rfile.read(int(self.headers.get("Content-Length") or 0)))

    def _answer(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol") or "",
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding") or "",
            "CONTENT_LENGTH": str(len(body)),
            "CONTENT_TYPE": self.headers.get("Content-Type") or "",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REMOTE_ADDR": self.client_address[0],
            "REQUEST_METHOD": self.command,
        }
        done = subprocess.run(
            ["git", "http-backend"], input=body, env=environment, capture_output=True, check=False
        )
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = [line.partition(": ") for line in head.decode("latin-1").split("\r\n")]
        status = next((value for name, _, value in fields if name == "Status"), "200 OK")
        self.send_response(int(status[:3]))
        for name, _, value in fields:
            if name not in ("", "Status"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: the syncers' own logs tell what they fetched."""
