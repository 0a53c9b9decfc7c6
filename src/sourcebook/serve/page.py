"""The files of the web page in, routes that give them out: no key, no build step, no other server.

They are read once, when the server starts. A browser asks again each time whether a file is still
the same, which costs it one short answer, and so never shows half of an older page.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from types import MappingProxyType

from starlette.requests import Request
from starlette.responses import Response

from sourcebook.hashing import digest

POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
"""Nothing from elsewhere, nothing written into the page, and no text that becomes a program."""
_TYPES = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}


@dataclass(frozen=True, slots=True)
class File:
    body: bytes
    media_type: str
    etag: str

    def answer(self, request: Request) -> Response:
        headers = {
            "etag": self.etag,
            "cache-control": "no-cache",
            "content-security-policy": POLICY,
        }
        known = request.headers.get("if-none-match", "")
        if self.etag in known or known == "*":
            return Response(status_code=304, headers=headers)
        return Response(self.body, headers=headers, media_type=self.media_type)


def _read() -> Iterator[tuple[str, File]]:
    """Each file by its address; the page itself is at the root."""
    for each in sorted(files("sourcebook.serve").joinpath("page").iterdir(), key=lambda e: e.name):
        if each.is_file():
            body = each.read_bytes()
            ending = each.name[each.name.rfind(".") :]
            media_type = _TYPES.get(ending) or mimetypes.guess_type(each.name)[0]
            etag = f'W/"{digest(body.decode())[:20]}"'
            path = "/" if each.name == "index.html" else f"/page/{each.name}"
            yield path, File(body, media_type or "application/octet-stream", etag)


FILES: Mapping[str, File] = MappingProxyType(dict(_read()))
