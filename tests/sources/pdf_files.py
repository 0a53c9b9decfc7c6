"""PDF files for tests, made with reportlab."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence

from reportlab.lib.pagesizes import A4
from reportlab.lib.pdfencrypt import StandardEncryption
from reportlab.pdfgen.canvas import Canvas

WIDTH, HEIGHT = A4
Draw = Callable[[Canvas], None]


def pdf(*pages: Draw, **options: object) -> bytes:
    """A file with one page for each function; `options` are those of reportlab's canvas."""
    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=A4, invariant=1, **options)  # type: ignore[arg-type]
    for draw in pages:
        draw(canvas)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def encrypted(*pages: Draw) -> bytes:
    return pdf(*pages, encrypt=StandardEncryption("secret", strength=128))


def lines(
    canvas: Canvas,
    texts: Sequence[str],
    *,
    x: float = 72,
    y: float = HEIGHT - 100,
    size: float = 10,
    font: str = "Helvetica",
) -> float:
    """Lines one under the other; the place of the next one."""
    canvas.setFont(font, size)
    for text in texts:
        canvas.drawString(x, y, text)
        y -= 1.2 * size
    return y


def cells(canvas: Canvas, rows: Sequence[Sequence[str]], xs: Sequence[float], y: float) -> float:
    """Rows of a table without rules; a cell may be empty."""
    canvas.setFont("Helvetica", 10)
    for row in rows:
        for x, text in zip(xs, row, strict=True):
            canvas.drawString(x, y, text)
        y -= 16
    return y
