"""Text in; its quality out: authenticity, necessity, stub type and the evidence for each.

A stage like chunking: pure functions that know nothing of stores or models. The formula, with its
reasons and an example worked by hand, is in docs/quality.md.
"""

from sourcebook.quality.evidence import Evidence
from sourcebook.quality.reading import LIMIT
from sourcebook.quality.score import QUALITY_VERSION, Quality, score
from sourcebook.quality.stubs import StubType

__all__ = ["LIMIT", "QUALITY_VERSION", "Evidence", "Quality", "StubType", "score"]
