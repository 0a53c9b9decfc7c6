"""Each type of stub, and what is nearly one."""

from __future__ import annotations

import pytest

from sourcebook.quality import score

POSITIVE = {
    "media": [
        "![A dog on the beach](images/dog.jpg)",
        "[Image: two people in a boat]",
        '<img src="a.png" alt="The plan">\nLook at this!',
        "IMG_2041.jpg",
        "[![build](https://a.b/c.svg)](https://a.b)",
        "![](a.png)\n![](b.png)\nFigure",
    ],
    "reference": [
        "See section 4.",
        "For details, please refer to Appendix B.",
        "As provided in Section 5.2.1.",
        "https://example.org/a\nhttps://example.org/b",
        "- [Rust book](https://a.b/c)\n- [Cargo guide](https://a.b/d)",
        "See also: [The handbook of the owners](https://a.b)",
        "[12], [14-16]",
        "1. Smith J, Doe A. Cells and time. Nature. 2003;12:34-56.\n"
        "2. Berg A. Pumps. J Eng. 2011;4:1-9. doi:10.1/x",
        "Siehe Abschnitt 7.",
        "Please click here.",
    ],
    "breadcrumb": [
        "Home > Docs > API",
        "Home>Docs>API",
        "Guide › Install › Linux",
        "Home » News",
        "Home | About | Contact | Login",
        "Declaration > Assessments. > Regular Assessments.",
        "# Guide\n## Install\n### Linux",
        "Table of Contents\nIntroduction\nThe pump\nThe valve",
        "1.1 The pump ........ 12\n1.2 The valve ....... 14",
        "1.\tDEFINITIONS\t10\n1.1\t\"Alley Residential Lots\"\t10\n1.2\t\"ALRC\"\t10",
        "- [Install](#install)\n- [Use](#use)",
        "Previous Next",
        "Skip to main content",
    ],
    "sentence": [
        "This section describes the process.",
        "Sounds good, thanks!",
        "How have you been?",
        "Hey! Good to see you! How are you?",
        "The following applies.",
        "I love it so much!",
        "This page intentionally left blank.",
    ],
    "note": [
        "Allocation of Regular",
        "TODO: describe the valve",
        "pump valve tbd",
        "Microstructural development of",
        "milk, eggs, bread",
        "- Public use\n- Taxonomy and phylogeny",
        "Turnover Meeting.",
        "5.2 Regular Assessments",
        "...",
        "",
    ],
    "over-elaborated": [
        "The mayor opened the new bridge over the river on Friday. " * 10,
        "We should meet. "
        + "Needless to say, at the end of the day it is what it is, more or less, "
        "and it goes without saying that, all things considered, this is basically the case. " * 3,
        "The same thing again and the same thing again. " * 12,
    ],
}  # fmt: skip

NEAR = [
    "The gate code is 4471.",
    "Gate code: 4471",
    "Dogs are not allowed.",
    "Open wood burning is not allowed.",
    "I see that the gate to the garden was left open by the plumber.",
    "See how the valve closes when the pressure rises above 4 bar?",
    "As provided in Section 5, each Owner shall pay the annual fee within thirty days of notice.",
    "The guide at https://example.org/pump explains how to replace the seal of the pump by hand.",
    "Figure 3 shows the pump behind the filter, with the inlet on the left and both valves open.\n"
    "![](pump.png)",
    "Docs > API\n\nThe interface takes a text and returns its words, each with its exact place.",
    "The pressure is 5 > 4 bar, and the temperature of the pump is higher than that of the pipe.",
    "> You wrote that the pump had failed.\nIt had not: the fuse was blown.",
    "| part | price |\n|---|---|\n| pump | 120 |\n| valve | 14 |",
    "revenue | 120 | 130\ncosts | 80 | 85\nprofit | 40 | 45",
    "The home page, the menu and the search of the site were moved to a new server in March.",
    "# Gate\nThe gate code is 4471.",
    "def area(width, height):\n    return width * height\n",
    "Smith and Berg (2003) found that the cells of older mice divide more slowly, as Lee et al. "
    "had expected from the length of their telomeres.",
    "We still have to do the roof, because the rain came in behind the chimney last night, and "
    "Anna Berg wants an offer from the roofer in Bend before the board decides about the money.",
]


@pytest.mark.parametrize(
    ("stub", "text"), [(stub, text) for stub, texts in POSITIVE.items() for text in texts]
)
def test_stubs(stub: str, text: str) -> None:
    quality = score(text)
    assert quality.stub_type == stub
    assert quality.overall <= 0.35


@pytest.mark.parametrize("text", NEAR)
def test_what_is_nearly_a_stub(text: str) -> None:
    quality = score(text)
    assert quality.stub_type is None
    assert quality.overall >= 0.4


def test_a_path_is_not_taken_for_a_sentence() -> None:
    """Its words are of the kind that makes an empty sentence; with a full stop as well."""
    assert score("Contents > Overview > This section.").stub_type == "breadcrumb"
    assert score("This section.").stub_type == "sentence"


def test_media_that_are_not_in_the_text() -> None:
    assert score("What a view this is!", has_media=True).stub_type == "media"
    assert score("", has_media=True).stub_type == "media"
    assert score("The gate code is 4471.", has_media=True).stub_type is None


def test_a_text_that_only_repeats_its_title() -> None:
    title = "What the board of the association can and cannot do"
    assert score(title, title=title).stub_type == "breadcrumb"
    assert score(f"{title}.", title=title.upper()).stub_type == "breadcrumb"
    assert score(title, title="Other").stub_type is None


def test_an_element_is_known_by_its_name() -> None:
    assert score("Claims Handling").stub_type == "note"
    assert score("Claims Handling", kind="element").stub_type is None
    assert score("Claims Handling", kind="element", title="Claims Handling").stub_type is None
    assert score("Understanding", kind="element").overall >= 0.4
    assert score("Home", kind="element").stub_type is None


def test_a_message_may_be_telegraphic_if_it_is_exact() -> None:
    assert score("invoice 4471 unpaid").stub_type == "note"
    assert score("invoice 4471 unpaid", kind="message").stub_type is None


def test_figures_and_code_may_repeat_themselves() -> None:
    assert score("0 1 1 0 1 0 0 1 " * 20).stub_type is None
    assert score("x_a = f(y_b); { return x_a; }\n" * 20).stub_type is None
    assert score("walls and roofs and doors. " * 20).stub_type == "over-elaborated"


def test_the_evidence_names_the_lines() -> None:
    text = "Home > Docs > API\nGuide > Install > Linux"
    shown = [e for e in score(text).evidence if e.signal == "stub: breadcrumb"]
    assert [(e.words, e.start, e.end) for e in shown] == [
        ("Home > Docs > API", 0, 17),
        ("Guide > Install > Linux", 18, 41),
    ]
