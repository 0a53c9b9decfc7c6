"""The command line as programs see it: shapes of JSON, exit statuses, and what is written."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from .conftest import Cli

CITATION = {"repository_id", "element_id", "version_id", "start", "end", "text_hash"}
CONTEXT = {"selector", "revision", "baseline_id", "as_of"}
HIT = {
    "rank", "element_id", "node_id", "version_id", "repository_id", "title", "kind", "resolution",
    "text", "context", "section_path", "page", "start", "end", "source", "relevance", "scores",
    "adjustments", "quality", "metadata", "citation",
}  # fmt: skip
NODE = HIT - {"rank", "resolution", "context", "relevance", "scores", "adjustments", "quality"}


def type_in(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))


# --- ingest --------------------------------------------------------------------------------------


def test_ingest_json_has_the_shape_of_the_contract(empty: Path, cli: Cli) -> None:
    (empty / "a.md").write_text("# Owls\n\nOwls hunt at night.\n")
    (empty / "b.md").write_text("")
    ran = cli("ingest", "a.md", "b.md", "--json")
    assert ran.status == 0
    assert ran.err == ""
    wanted = {"revision", "nodes", "passages", "unchanged", "skipped", "counts", "pending_vectors"}
    assert wanted <= set(ran.data)
    assert ran.data["revision"] == 1
    assert ran.data["skipped"] == [{"path": "b.md", "reason": "the file is empty"}]
    assert set(ran.data["counts"]) == {
        "document", "section", "chunk", "conversation", "message", "element", "relationship",
        "page",
    }  # fmt: skip
    assert ran.data["counts"]["document"] == 1
    assert ran.data["pending_vectors"] == 0


def test_unchanged_files_make_no_revision(folder: Path, cli: Cli) -> None:
    data = cli("ingest", "notes", "--json").data
    assert (data["revision"], data["unchanged"], data["nodes"]) == (1, 2, 0)


def test_prune_ends_what_is_gone(folder: Path, cli: Cli) -> None:
    (folder / "notes" / "leave.md").unlink()
    assert cli("ingest", "notes", "--json").data["revision"] == 1
    ran = cli("ingest", "notes", "--prune", "--json")
    assert (ran.data["revision"], ran.data["ended"]) == (2, 1)
    assert [n["node_id"] for n in cli("list", "--json").data["nodes"]] == ["notes/travel.md"]
    assert "ended: 1 document" not in cli("ingest", "notes", "--prune").out


def test_metadata_options_become_typed_metadata(empty: Path, cli: Cli) -> None:
    (empty / "a.txt").write_text("Owls hunt at night.")
    meta = ("--meta", "year=2026", "--meta", "draft=false", "--meta", "code=007", "--meta", "x=a=b")
    cli("ingest", "a.txt", "--document-type", "note", "--no-binding", *meta)
    metadata = cli("get", "a.txt", "--json").data["metadata"]
    del metadata["format"]
    assert metadata == {
        "document_type": "note", "is_binding": False, "year": 2026, "draft": False, "code": "007",
        "x": "a=b",
    }  # fmt: skip


def test_stdin_is_a_document(empty: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    type_in(monkeypatch, "Owls hunt at night.")
    assert cli("ingest", "-").status == 0
    type_in(monkeypatch, "# Bats\n\nBats sleep by day.")
    cli("ingest", "-", "--name", "bats.md")
    found = {n["node_id"]: n["title"] for n in cli("list", "--json").data["nodes"]}
    assert found == {"stdin": "stdin", "bats.md": "Bats"}


def test_no_wait_leaves_vectors_pending_and_the_next_ingest_makes_them(
    empty: Path, cli: Cli
) -> None:
    (empty / "a.txt").write_text("Owls hunt at night.")
    assert cli("ingest", "a.txt", "--no-wait", "--json").data["pending_vectors"] > 0
    search = cli("search", "owls", "--json").data
    assert search["degraded"][0]["part"] == "dense"
    assert "degraded: dense: " in cli("search", "owls").out
    assert cli("ingest", "a.txt", "--json").data["pending_vectors"] == 0
    assert cli("search", "owls", "--json").data["degraded"] == []


def test_a_request_id_is_carried_out_once(empty: Path, cli: Cli) -> None:
    (empty / "a.txt").write_text("Owls hunt at night.")
    first = cli("ingest", "a.txt", "--request-id", "r1", "--json").data
    (empty / "a.txt").write_text("Owls sleep at night.")
    again = cli("ingest", "a.txt", "--request-id", "r1", "--json").data
    assert again["revision"] == first["revision"] == 1
    assert cli("get", "a.txt", "--json").data["text"] == "Owls hunt at night."


def test_every_file_skipped_is_a_no(empty: Path, cli: Cli) -> None:
    (empty / "a.md").write_text("")
    ran = cli("ingest", "a.md", "--json")
    assert ran.status == 1
    assert len(ran.data["skipped"]) == 1
    assert "the file is empty" in cli("ingest", "a.md").out


def test_a_long_list_of_skipped_files_is_cut_for_people(empty: Path, cli: Cli) -> None:
    for number in range(23):
        (empty / f"{number:02}.md").write_text("")
    out = cli("ingest", ".").out
    assert "19.md: the file is empty" in out
    assert "20.md" not in out
    assert "and 3 more; --json shows all" in out


# --- search --------------------------------------------------------------------------------------


def test_search_json_has_the_shape_of_the_contract(folder: Path, cli: Cli) -> None:
    ran = cli("search", "how much may a hotel cost?", "--json")
    data = ran.data
    assert ran.status == 0
    assert set(data) == {
        "status", "warning", "degraded", "query", "read_context", "results", "rejected", "stats",
    }  # fmt: skip
    assert data["status"] == "ok"
    assert {"text", "normalized", "type", "weights"} <= set(data["query"])
    assert data["read_context"] == {
        "selector": "head", "revision": 1, "baseline_id": None, "as_of": None,
    }  # fmt: skip
    assert {"candidates", "accepted", "rejected", "timings_ms"} <= set(data["stats"])
    hit = data["results"][0]
    assert set(hit) >= HIT
    assert set(hit["citation"]) == CITATION
    assert {"dense", "dense_rank", "sparse", "sparse_rank", "fused", "rerank"} <= set(hit["scores"])
    assert (hit["rank"], hit["element_id"]) == (1, "notes/travel.md")
    assert "140 euros" in hit["text"]


def test_offsets_of_a_hit_point_into_the_file(folder: Path, cli: Cli) -> None:
    hit = cli("search", "hotel", "-k", "1", "--json").data["results"][0]
    text = Path(hit["source"]).read_text()
    assert text[hit["start"] : hit["end"]] == hit["text"]


@pytest.mark.parametrize(("mode", "absent"), [("dense", "sparse"), ("sparse", "dense")])
def test_a_mode_uses_only_its_list(folder: Path, cli: Cli, mode: str, absent: str) -> None:
    scores = cli("search", "hotel", "--mode", mode, "--json").data["results"][0]["scores"]
    assert scores[f"{mode}_rank"] == 1
    assert scores[f"{absent}_rank"] is None


def test_filters_of_one_key_are_any_and_of_two_keys_all(folder: Path, cli: Cli) -> None:
    def found(*filters: str) -> set[str]:
        options = [word for f in filters for word in ("--filter", f)]
        results = cli("search", "weeks or euros", *options, "--json").data["results"]
        return {hit["element_id"] for hit in results}

    both = {"notes/leave.md", "notes/travel.md"}
    assert found("department=people") == {"notes/leave.md"}
    assert found("department=people", "department=finance") == both
    assert found("department=people", "source=notes/travel.md") == set()


def test_words_without_quotes_are_one_query(folder: Path, cli: Cli) -> None:
    assert cli("search", "hotel", "costs", "--json").data["query"]["text"] == "hotel costs"


def test_resolution_and_per_document(folder: Path, cli: Cli) -> None:
    hits = cli("search", "hotel", "--resolution", "document", "--json").data["results"]
    assert {hit["resolution"] for hit in hits} == {0}
    one = cli("search", "hotel", "--per-document", "1", "--json").data["results"]
    assert len({hit["element_id"] for hit in one}) == len(one)


def test_another_read_context_is_echoed(folder: Path, cli: Cli) -> None:
    cli("baseline", "create", "Q1")
    assert (
        "read at baseline Q1 (revision 1)"
        in cli("search", "hotel", "--read-context", "baseline:Q1").out
    )


# --- structured reads ----------------------------------------------------------------------------


def test_get_gives_the_node_with_text_and_citation(folder: Path, cli: Cli) -> None:
    data = cli("get", "notes/travel.md", "--json").data
    assert set(data) >= NODE | {"parent_id", "position", "read_context"}
    assert set(data["read_context"]) == CONTEXT
    assert data["text"].startswith("# Travel expenses")
    assert cli("verify", json.dumps(data)).status == 0
    out = cli("get", "notes/travel.md").out
    assert "Travel expenses" in out
    assert "department=finance" in out


def test_get_of_an_old_version(folder: Path, cli: Cli) -> None:
    old = cli("get", "notes/travel.md", "--json").data
    (folder / "notes" / "travel.md").write_text("# Travel expenses\n\nAsk first.\n")
    cli("ingest", "notes")
    assert "Ask first" in cli("get", "notes/travel.md", "--json").data["text"]
    again = cli("get", "notes/travel.md", "--version", old["version_id"], "--json").data
    assert again["text"] == old["text"]


def test_list_goes_on_behind_the_last_page(folder: Path, cli: Cli) -> None:
    first = cli("list", "--limit", "1", "--json").data
    assert set(first) == {"read_context", "nodes", "next"}
    assert first["next"] == first["nodes"][0]["node_id"] == "notes/leave.md"
    second = cli("list", "--limit", "1", "--after", first["next"], "--json").data
    assert [n["node_id"] for n in second["nodes"]] == ["notes/travel.md"]
    assert second["next"] is None
    assert "--after notes/leave.md" in cli("list", "--limit", "1").out


def test_list_by_kind_and_filter(folder: Path, cli: Cli) -> None:
    found = cli("list", "--kind", "document", "--filter", "department=people", "--json").data
    assert [n["node_id"] for n in found["nodes"]] == ["notes/leave.md"]
    assert cli("list", "--kind", "chunk", "--json").data["nodes"] == []


def test_links_join_a_long_document_and_its_parts(empty: Path, cli: Cli) -> None:
    parts = [f"## Bird {n}\n\n" + f"Bird {n} flies and sings. " * 60 for n in range(4)]
    (empty / "birds.md").write_text("# Birds\n\n" + "\n\n".join(parts))
    cli("ingest", "birds.md")
    data = cli("links", "birds.md", "--json").data
    assert data["node_id"] == "birds.md"
    assert {"source_id", "target_id", "type", "metadata"} <= set(data["links"][0])
    assert all("birds.md" in (link["source_id"], link["target_id"]) for link in data["links"])
    assert data["links"][0]["type"] in cli("links", "birds.md").out


# --- history -------------------------------------------------------------------------------------


def test_each_time_has_its_text(empty: Path, cli: Cli) -> None:
    texts = [f"The fee is {fee} euros." for fee in (10, 20, 30)]
    for text in texts:
        (empty / "fee.txt").write_text(text)
        assert cli("ingest", "fee.txt").status == 0
    log = cli("log", "--json").data["revisions"]
    assert [r["number"] for r in log] == [3, 2, 1]
    for revision, text in zip(reversed(log), texts, strict=True):
        read = ("--read-context", f"as-of:{revision['at']}", "--json")
        found = cli("search", "what is the fee?", *read).data
        assert [hit["text"] for hit in found["results"]] == [text]
        assert found["read_context"]["revision"] == revision["number"]
        assert cli("get", "fee.txt", *read).data["text"] == text


def test_log_for_people_says_what_came_and_went(folder: Path, cli: Cli) -> None:
    (folder / "notes" / "leave.md").unlink()
    cli("ingest", "notes", "--prune")
    out = cli("log").out
    assert "+2 document" in out
    assert "-1 document" in out
    assert "first" in out
    assert len(cli("log", "--limit", "1", "--json").data["revisions"]) == 1


def test_baselines_are_made_listed_and_published(folder: Path, cli: Cli) -> None:
    made = cli("baseline", "create", "Q1", "--json").data
    assert (made["id"], made["revision"], made["published"]) == ("Q1", 1, False)
    assert cli("baseline", "publish", "Q1", "--json").data["published"] is True
    listed = cli("baseline", "list", "--json").data["baselines"]
    assert [b["id"] for b in listed] == ["Q1"]
    assert "Q1" in cli("baseline", "list").out
    read = cli("search", "hotel", "--read-context", "published", "--json").data["read_context"]
    assert (read["selector"], read["baseline_id"]) == ("published", "Q1")
    assert cli("status", "--json").data["published"] == "Q1"


def test_a_citation_holds_after_the_file_changed(
    folder: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    hit = cli("search", "hotel", "-k", "1", "--json").data["results"][0]
    (folder / "notes" / "travel.md").write_text("# Travel expenses\n\nAsk first.\n")
    cli("ingest", "notes")
    ran = cli("verify", json.dumps(hit["citation"]), "--json")
    assert ran.status == 0
    assert ran.data | {"valid": True, "reason": None, "text": hit["text"]} == ran.data
    type_in(monkeypatch, json.dumps(hit))
    assert cli("verify", "-").out.startswith("valid\n")


def test_a_changed_citation_does_not_hold(folder: Path, cli: Cli) -> None:
    citation = cli("search", "hotel", "--json").data["results"][0]["citation"]
    ran = cli("verify", json.dumps(citation | {"text_hash": "0" * 64}), "--json")
    assert ran.status == 1
    assert ran.data["valid"] is False
    assert "hash" in ran.data["reason"]
    assert cli("verify", json.dumps(citation | {"version_id": "none"})).status == 1


def test_a_citation_is_looked_up_in_its_own_repository(folder: Path, cli: Cli) -> None:
    (folder / "notes" / "travel.md").write_text("# Travel\n\nThe hotel is paid for.\n")
    cli("--repository", "other", "ingest", "notes")
    hit = cli("--repository", "other", "search", "hotel", "--json").data["results"][0]
    assert hit["repository_id"] == "other"
    assert cli("verify", json.dumps(hit)).status == 0
    assert cli("--repository", "default", "verify", json.dumps(hit)).status == 2


def test_status_json_has_the_shape_of_the_contract(folder: Path, cli: Cli) -> None:
    data = cli("status", "--json").data
    assert set(data) >= {"revision", "published", "counts", "index", "spaces", "queries"}
    assert set(data["index"]) >= {"pending", "oldest_pending_s", "failed"}
    assert (data["revision"], data["counts"]["document"], data["index"]["pending"]) == (1, 2, 0)
    assert data["spaces"][0]["model"] == "gte-small"
    assert "document 2" in cli("status").out


# --- evaluation and models -----------------------------------------------------------------------


def test_eval_measures_a_collection(empty: Path, cli: Cli) -> None:
    birds = empty / "birds"
    birds.mkdir()
    texts = {"d1": "Owls hunt mice at night.", "d2": "Robins sing in the morning."}
    lines = [json.dumps({"_id": i, "title": "", "text": t}) for i, t in texts.items()]
    (birds / "corpus.jsonl").write_text("\n".join(lines))
    (birds / "queries.jsonl").write_text('{"_id": "q1", "text": "which bird hunts mice"}')
    (birds / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    options = ("--run", "birds.run", "--plot", "birds.png")
    ran = cli("eval", "birds", *options, "--json")
    assert ran.status == 0
    assert set(ran.data) == {"dataset", "queries", "skipped", "modes", "timings_ms"}
    assert (ran.data["dataset"], ran.data["queries"]) == ("birds", 1)
    assert set(ran.data["modes"]) == {"dense", "sparse", "hybrid", "default"}
    perfect = {"ndcg@10": 1.0, "recall@10": 1.0, "recall@100": 1.0, "mrr@10": 1.0}
    assert ran.data["modes"]["default"] == perfect
    assert (empty / "birds.run").read_text().split()[:4] == ["q1", "Q0", "d1", "1"]
    assert (empty / "birds.png").read_bytes().startswith(b"\x89PNG")
    out = cli("eval", "birds", "--modes", "sparse").out
    assert "ndcg@10" in out
    assert "dense" not in out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("nowhere",), "there is no file or folder nowhere"),
        ((".", "--modes", "foo"), "there is no mode 'foo'"),
        ((".", "--modes", ","), "--modes names no mode"),
        ((".", "--modes", "dense", "--run", "x"), "--run writes the ranking of `default`"),
        ((".", "--plot", "no/where.png"), "there is no folder for no/where.png"),
    ],
)
def test_eval_refuses_what_cannot_be_measured(
    empty: Path, cli: Cli, args: tuple[str, ...], words: str
) -> None:
    ran = cli("eval", *args)
    assert ran.status == 2
    assert words in ran.err


def test_models_are_listed_and_installing_again_is_at_once(empty: Path, cli: Cli) -> None:
    listed = {m["name"]: m for m in cli("model", "list", "--json").data["models"]}
    assert listed["gte-small"]["installed"] is True
    assert listed["gte-small"]["used"] is True
    assert "gte-small" in cli("model", "list").out
    installed = cli("model", "install", "--json").data["installed"]
    assert [m["name"] for m in installed] == ["gte-small", "potion-base-8M"]
    assert not (empty / ".sourcebook").exists()


def test_a_model_that_is_not_there_is_status_three(
    empty: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCEBOOK_MODELS", str(empty / "none"))
    (empty / "a.txt").write_text("Owls hunt at night.")
    ran = cli("ingest", "a.txt", "--json")
    assert (ran.status, ran.data["error"]["code"]) == (3, "model_unavailable")
    assert "sourcebook model install" in ran.err
