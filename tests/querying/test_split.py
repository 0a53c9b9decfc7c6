"""Compound questions and others, by rule and by a language model over real HTTP."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebook.errors import ModelUnavailable
from sourcebook.models.chat import ChatModel
from sourcebook.models.http import Limits
from sourcebook.querying.split import split, split_by_model
from tests.models.server import FAILURES, ChatServer

Json = Any

COMPOUND = {
    "What is the quorum and who may call a meeting?": (
        "What is the quorum?",
        "Who may call a meeting?",
    ),
    "What is the quorum, and how is it calculated?": (
        "What is the quorum?",
        "How is the quorum calculated?",
    ),
    "How high may a fence be and what colours are allowed for front doors?": (
        "How high may a fence be?",
        "What colours are allowed for front doors?",
    ),
    "When is the annual meeting held and where is it held?": (
        "When is the annual meeting held?",
        "Where is the annual meeting held?",
    ),
    "Who approves the budget and when must it be published?": (
        "Who approves the budget?",
        "When must the budget be published?",
    ),
    "Can I rent out my unit, and how many guests may stay overnight?": (
        "Can I rent out my unit?",
        "How many guests may stay overnight?",
    ),
    "Are dogs allowed in the pool area and are cats allowed in the lobby?": (
        "Are dogs allowed in the pool area?",
        "Are cats allowed in the lobby?",
    ),
    "According to the bylaws, who elects the directors and how long is a term?": (
        "According to the bylaws, who elects the directors?",
        "According to the bylaws, how long is a term?",
    ),
    "What is the late fee? When does interest start?": (
        "What is the late fee?",
        "When does interest start?",
    ),
    "What is the late fee? And who collects the dues?": (
        "What is the late fee?",
        "Who collects the dues?",
    ),
    "Which trees may be cut; also, who pays for stump removal?": (
        "Which trees may be cut?",
        "Who pays for stump removal?",
    ),
    "What insurance must owners carry; what does the master policy cover?": (
        "What insurance must owners carry?",
        "What does the master policy cover?",
    ),
    "Compare regular and special assessments": ("regular assessments", "special assessments"),
    "Compare the design guidelines with the CC&Rs.": ("the design guidelines", "the CC&Rs"),
    "What is the difference between a variance and an amendment?": (
        "a variance",
        "an amendment",
    ),
    "What are the main differences between common areas and limited common areas?": (
        "common areas",
        "limited common areas",
    ),
    "How does a baseline differ from a revision?": ("a baseline", "a revision"),
    "How do owners and tenants differ?": ("owners", "tenants"),
    "Compare the duties of the president and the secretary": (
        "the duties of the president",
        "the duties of the secretary",
    ),
    "Compare the fees for owners and tenants": ("the fees for owners", "the fees for tenants"),
    "Compare the budgets of 2019 and 2021": ("the budgets of 2019", "the budgets of 2021"),
    "Compare version 1 and 2": ("version 1", "version 2"),
    "Compare gzip, zstd and brotli": ("gzip", "zstd", "brotli"),
    "optimistic locking vs pessimistic locking": ("optimistic locking", "pessimistic locking"),
    "What is the difference in cost between the basic plan and the premium plan?": (
        "cost of the basic plan",
        "cost of the premium plan",
    ),
    "Tell me what the quorum is and who may call a meeting.": (
        "Tell me what the quorum is",
        "Who may call a meeting?",
    ),
    "Explain what a covenant is and how the board enforces covenants.": (
        "Explain what a covenant is",
        "How the board enforces covenants?",
    ),
    "What is an episode, and explain how messages are grouped": (
        "What is an episode?",
        "Explain how messages are grouped",
    ),
    "Who was Florence Nightingale and when did she die?": (
        "Who was Florence Nightingale?",
        "When did Florence Nightingale die?",
    ),
    "What did Maria buy in Lisbon and why did she return early?": (
        "What did Maria buy in Lisbon?",
        "Why did Maria return early?",
    ),
    "How do I install the server and how do I configure logging?": (
        "How do I install the server?",
        "How do I configure logging?",
    ),
    "What does the scheduler do and which queue has priority?": (
        "What does the scheduler do?",
        "Which queue has priority?",
    ),
    "What is the default port, what is the default user, and where are logs written?": (
        "What is the default port?",
        "What is the default user?",
        "Where are logs written?",
    ),
    "What is the fee, who pays it, and when is it due?": (
        "What is the fee?",
        "Who pays the fee?",
        "When is the fee due?",
    ),
    "Does aspirin lower the risk of stroke, and what dose is recommended?": (
        "Does aspirin lower the risk of stroke?",
        "What dose is recommended?",
    ),
    "What causes flutter in thin wings and how can designers prevent panel divergence?": (
        "What causes flutter in thin wings?",
        "How can designers prevent panel divergence?",
    ),
    "To whom must the notice be sent and by what date must the owner reply?": (
        "To whom must the notice be sent?",
        "By what date must the owner reply?",
    ),
    "Is a permit needed for a deck as well as who inspects the finished work?": (
        "Is a permit needed for a deck?",
        "Who inspects the finished work?",
    ),
    "Can tenants vote at meetings and paint their front doors?": (
        "Can tenants vote at meetings?",
        "Can tenants paint their front doors?",
    ),
    "Who may call a special meeting and when?": (
        "Who may call a special meeting?",
        "When may a special meeting be called?",
    ),
}
NOT_FOUND = 2
"""The last two: a second verb, and a question word alone, need a grammar to be made whole."""

SINGLE = """\
What are the rules on pets and noise?
What do the terms and conditions say about refunds?
What does "search and what follows" mean?
What is the purpose and scope of the design guidelines?
Who appoints the president and the treasurer?
How and when are dues collected?
When and where are meetings held?
Which owners are in arrears and have not responded?
Which rules were adopted in 2019 and are still in force?
What house has a garden and has a pool?
Who wrote the code and did the tests?
What is the rule for owners who live abroad and who rent their units?
What happens when a member resigns and when a seat is vacant?
Is it possible to predict when and how it will stop?
How do I apply for a permit and how long does it take?
Which is cheaper and easier to maintain, brick or stucco?
Who is the president and why?
What is the late fee and how much?
What did the board decide, and what does that mean?
May owners keep dogs? What about tenants?
What is the quorum? Why?
Are fences, walls and hedges allowed in front yards?
What are the current and list prices of units?
What was the average temperature between 1990 and 2000?
Where was John between August 11 and August 15?
What is the relationship between stress and strain?
What agreement is there between theory and experiment?
How do the results compare with each other and with experiment?
How is the flow about a delta wing different from that on a swept wing?
Compare them
Compare the two proposals
What is research and development?
Smoking and obesity increase mortality, and how cells respond is unknown.
Researchers know what the protein does and how it folds.
The board may call a meeting and who attends is recorded.
Aspirin inhibits COX-1 and is effective against fever.
pets and noise
quorum; meeting; notice
Must the deck be stained, and where possible sealed, every second year?
What does Nate do that he loves and can make money from?"""


def test_compound_questions_are_split() -> None:
    assert len(COMPOUND) == 40
    missed = {q: split(q) for q, parts in COMPOUND.items() if split(q) != parts}
    assert list(missed) == list(COMPOUND)[-NOT_FOUND:]
    assert all(parts == (question,) for question, parts in missed.items())  # whole, not wrong


def test_other_questions_stay_whole() -> None:
    singles = SINGLE.splitlines()
    assert len(singles) == 40
    assert [split(question) for question in singles] == [(question,) for question in singles]


REAL = {
    "scifact/queries.jsonl": [],
    "scifact/queries_train.jsonl": [],
    "cranfield/queries.jsonl": [
        "given complete freedom in the design of an airplane",
        "how can the effect of the boundary-layer on wing pressure",
    ],
    "contextual_retrieval/evaluation_set.jsonl": [
        "What is the expected tarball structure and how is it verified",
        "What is the difference between withPBKDF2() and withCompressedPBKDF2()",
    ],
    "locomo/queries.jsonl": [
        "What schools did John play basketball in and how many years",
        "Who did Evan meet on his trip to Canada, and who did he",
    ],
}
"""How those questions begin that are split. All of them ask for two things."""


@pytest.mark.parametrize("name", REAL)
def test_of_real_questions_only_compound_ones_are_split(data_dir: Path, name: str) -> None:
    lines = (data_dir / name).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    questions = [row.get("text") or row["query"] for row in rows]
    cut = [question for question in questions if len(split(question)) > 1]
    assert len(questions) > 200
    assert len(cut) == len(REAL[name])
    for question, start in zip(cut, REAL[name], strict=True):
        assert question.startswith(start)


def test_real_compound_questions_are_split_with_their_subjects(data_dir: Path) -> None:
    path = data_dir / "chunking_eval" / "questions_df.csv"
    with path.open(encoding="utf-8", newline="") as file:
        questions = [row["question"] for row in csv.DictReader(file)]
    found = {question: split(question) for question in questions if len(split(question)) > 1}
    assert len(found) == 8
    (measures,) = (parts for question, parts in found.items() if "Red Sea" in question)
    assert measures[1] == "How did President Biden address military concerns in the region?"


WORDS = """What who how is are did does may the a an it they he and also or compare difference
between vs with ; ? , . " ' ( ) quorum meeting Maria fee paid regular special assessments of tell
me explain in if""".split()
QUESTIONS = st.one_of(st.text(), st.lists(st.sampled_from(WORDS), max_size=40).map(" ".join))


@given(QUESTIONS)
def test_any_text_gives_parts_made_of_its_own_words(question: str) -> None:
    parts = split(question)
    assert parts == split(question)
    if len(parts) == 1:
        assert parts == (question,)
        return
    assert 2 <= len(parts) <= 4
    known = {word.casefold() for word in re.findall(r"\w+", question)} | {"of", "s"}
    for part in parts:
        assert part.strip() == part
        assert {word.casefold() for word in re.findall(r"\w+", part)} <= known


@pytest.mark.parametrize(
    ("question", "second"),
    [
        ("What are the dues and when are they payable?", "When are the dues payable?"),
        ("What is the quorum and what is its purpose?", "What is the quorum's purpose?"),
        ("Who may call a meeting and who chairs it?", "Who chairs a meeting?"),
        ("What does the policy cover and when does it expire?", "When does the policy expire?"),
        ('What is the code and who typed "it" first?', 'Who typed "it" first?'),
        ('What is the code and where does it print "it"?', 'Where does the code print "it"?'),
        ("Who may vote here and can an owner sell his unit?", "Can an owner sell his unit?"),
        ("What is a deed and is it possible to amend a deed?", "Is it possible to amend a deed?"),
    ],
)
def test_a_subject_is_carried_over(question: str, second: str) -> None:
    assert split(question)[1:] == (second,)


@pytest.mark.parametrize(
    "question",
    [
        "What are the dues and when is it payable?",  # one or many?
        "What is the board allowed to do and how is it elected?",
        "Who did Evan and Sam meet and when did he leave again?",
        "Who pays the fee to the manager and when is it due again?",
        "Who wrote the rules and how is he paid?",
        "Tell me how and when dues are collected.",
        "x" * 600 + " What is the quorum and who may call a meeting?",
    ],
)
def test_a_part_that_would_lack_its_subject_is_not_cut_off(question: str) -> None:
    assert split(question) == (question,)


@pytest.mark.parametrize(
    ("question", "things"),
    [
        ("Compare a letter of intent and a contract", ("a letter of intent", "a contract")),
        ("Compare terms of use and privacy notices", ("terms of use", "privacy notices")),
        (
            "Compare the terms and conditions and the bylaws",
            ("the terms and conditions", "the bylaws"),
        ),
        ("Compare Java and machine code", ("Java", "machine code")),
        ("compare Smith and Sons with Jones", ("Smith and Sons", "Jones")),
        ("Compare cats and dogs and birds", None),
        ("What is the difference between 1990 and 2000?", None),
        ("Compare rent and rent", None),
    ],
)
def test_what_is_compared(question: str, things: tuple[str, ...] | None) -> None:
    assert split(question) == (things or (question,))


def test_a_preamble_holds_for_its_sentence() -> None:
    asked = "In the bylaws, what is the quorum and who may vote by proxy? How high may a fence be?"
    assert split(asked) == (
        "In the bylaws, what is the quorum?",
        "In the bylaws, who may vote by proxy?",
        "How high may a fence be?",
    )


def test_more_parts_than_four_are_left_whole() -> None:
    four = "What is a lien? What is a deed? What is a plat? What is a lot?"
    assert len(split(four)) == 4
    assert split(f"{four} What is a unit?") == (f"{four} What is a unit?",)


# --- by a language model -------------------------------------------------------------------------

QUESTION = "What is the quorum and who may call a meeting?"
PARTS = ["What is the quorum?", "Who may call a meeting?"]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


def model(server: ChatServer, timeout_s: float = 10.0) -> ChatModel:
    limits = Limits(total_s=2.0, first_wait_s=0.001, failures=100)
    return ChatModel(server.url, "tiny", timeout_s=timeout_s, limits=limits)


def saying(parts: Json) -> Any:
    return lambda body: json.dumps({"parts": parts})


def test_a_model_splits(server: ChatServer) -> None:
    server.answer = saying([PARTS[0], f"  {PARTS[1]}\n"])
    assert split_by_model(model(server), QUESTION) == tuple(PARTS)
    (request,) = server.requests
    form = request["response_format"]["json_schema"]
    assert form["strict"] is True
    assert form["schema"]["additionalProperties"] is False
    assert request["temperature"] == 0
    text = request["messages"][1]["content"]
    assert re.search(rf"<question-(\w{{12}})>\n{re.escape(QUESTION)}\n</question-\1>", text)


def test_one_part_is_the_question_as_it_was(server: ChatServer) -> None:
    server.answer = saying(["what is the quorum"])
    assert split_by_model(model(server), "What's the quorum?") == ("What's the quorum?",)


def test_a_text_or_nothing_is_not_sent(server: ChatServer) -> None:
    for text in ("", "  ", "word " * 200):
        assert split_by_model(model(server), text) == (text,)
    assert server.requests == []


@pytest.mark.parametrize("failure", [*sorted(FAILURES), "hang", "drip", "drip headers", "hang up"])
def test_a_service_that_fails_splits_nothing(server: ChatServer, failure: str) -> None:
    server.always = failure
    with pytest.raises(ModelUnavailable, match="^the language model"):
        split_by_model(model(server, timeout_s=0.3), QUESTION)


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        ([], "0 parts instead of 1 to 4"),
        (["the quorum"] * 5, "5 parts"),
        ("What is the quorum?", "else than texts"),
        ([1, 2], "else than texts"),
        ([["the quorum"]], "else than texts"),
        (None, "else than texts"),
        (["What is the quorum?", " "], "empty or too long"),
        (["What is the quorum?", "meeting " * 50], "empty or too long"),
        (["What is the quorum?", "what is the Quorum? "], "the same"),
        (["What is the quorum?", "Buy cheap pills"], "no word of the question"),
    ],
)
def test_nonsense_is_not_used(server: ChatServer, parts: Json, reason: str) -> None:
    server.answer = saying(parts)
    with pytest.raises(ModelUnavailable, match=rf"tiny split .*{reason}.*; choose another"):
        split_by_model(model(server), QUESTION)


@pytest.mark.parametrize("text", ["[]", "null", '{"parts": ["quorum"], "why": 1}', '{"part": []}'])
def test_answers_of_another_shape(server: ChatServer, text: str) -> None:
    server.answer = lambda body: text
    with pytest.raises(ModelUnavailable, match="something else than parts"):
        split_by_model(model(server), QUESTION)


def test_a_part_that_repeats_the_code_is_not_used(server: ChatServer) -> None:
    def leak(body: Json) -> str:
        code = re.search(r"The code is (\w+)", body["messages"][1]["content"])
        assert code
        return json.dumps({"parts": [PARTS[0], f"meeting {code[1]}"]})

    server.answer = leak
    with pytest.raises(ModelUnavailable, match="the request's code"):
        split_by_model(model(server), QUESTION)
