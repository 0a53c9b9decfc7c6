"""USE CASE: sources in, one committed revision out.

find files -> parse -> leave out what is unchanged -> chunk -> contextualise -> commit. Documents
pass through in small batches into a temporary file, so memory grows with the largest document, not
with the corpus; the commit reads them from there, and holds the store's lock only while it writes.
Vectors are filled in behind the commit (see indexing).
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from sourcebook import asker
from sourcebook.chunking.outline import outline
from sourcebook.chunking.strategy import ChunkingStrategy
from sourcebook.context.conversation import episodes, long_messages
from sourcebook.context.generated import GAPS, Asking, Contexts
from sourcebook.context.nodes import (
    answers,
    chunk_nodes,
    content_hash,
    document_node,
    fingerprint,
    links,
    message_chunks,
    message_nodes,
    section_nodes,
)
from sourcebook.context.passages import PassageMaker
from sourcebook.context.references import references
from sourcebook.context.spool import Spool
from sourcebook.errors import Conflict, InvalidInput, StoreBusy
from sourcebook.model import (
    ChunkOptions,
    Document,
    Json,
    Link,
    Node,
    ReadContext,
    Scope,
    Skipped,
    Tree,
)
from sourcebook.ports import Prepared, Store, Writer

COUNTED = (
    "document",
    "section",
    "chunk",
    "conversation",
    "message",
    "element",
    "relationship",
    "page",
)
_BATCH_WEIGHT = 1 << 20
_BATCH_DOCUMENTS = 256
_BLOCK_WEIGHT = 100
_LARGE = 1 << 19
"""The weight from which on documents are built one at a time."""
_LOOK_S = 0.1
_ATTEMPTS = 5
_building = threading.Lock()
State = tuple[str, str, str]
"""Content hash, recipe and source: what is equal has not changed."""

Ahead = Callable[[Sequence[Tree]], None]
"""Called with trees before they are committed, to embed what they hold."""
Progress = Callable[[str], None]
"""Called with the source of each document that was looked at."""


@dataclass(frozen=True, slots=True)
class Builder:
    """Parsed documents in, trees out: one chunker, one tokenizer, one set of options."""

    chunker: ChunkingStrategy
    passages: PassageMaker
    options: ChunkOptions
    recipe: str
    contexts: Contexts | None = None

    def build(self, documents: Sequence[Document]) -> list[Tree]:
        """The tokens of all the documents are counted in one go."""
        limit = self.options.max_tokens
        maybe = [d for d in documents if len(d.text) <= 16 * limit]
        counts = self.passages.count([d.text for d in maybe])
        small = {id(d) for d, tokens in zip(maybe, counts, strict=True) if tokens <= limit}
        return [self._tree(d, split=id(d) not in small) for d in documents]

    def recipe_of(self, document: Document) -> str:
        return f"{self.recipe}/{fingerprint(document)}"

    def _tree(self, document: Document, *, split: bool) -> Tree:
        root = document_node(document)
        if document.kind == "conversation":
            nodes, found = self._conversation(document, root), answers(document)
        elif split:
            nodes, found = self._document(document, root)
        else:
            nodes, found = [root], []
        passages, gaps = self.passages.make(document, nodes, whole=len(nodes) == 1), 0
        if self.contexts:
            passages, gaps = self.contexts.apply(document, nodes, passages)
        return Tree(
            document.element_id,
            document.source,
            document.text,
            self.recipe_of(document) + (GAPS if gaps else ""),
            tuple(nodes),
            (*links(nodes), *found, *document.links),
            tuple(passages),
        )

    def _document(self, document: Document, root: Node) -> tuple[list[Node], list[Link]]:
        sections = outline(document.text, document.blocks)
        chunks = self.chunker.chunk(document.text, document.blocks, self.options)
        parents = section_nodes(document, sections, root)
        nodes = [root, *parents, *chunk_nodes(document, chunks, sections, parents, root)]
        return nodes, references(document.text, sections, nodes)

    def _conversation(self, document: Document, root: Node) -> list[Node]:
        """Topic episodes are the sections; a message too long for one passage has parts. What is
        not said by anybody, such as words before the first message, are chunks."""
        text, options = document.text, replace(self.options, overlap_tokens=0)
        long = long_messages(document, self.passages.count, options.max_tokens)
        sections = episodes(document, long, partial(self.chunker.chunk, text, options=options))
        parents = section_nodes(document, sections, root)
        unsaid = [block for block in document.blocks if not block.turn]
        chunks = self.chunker.chunk(text, unsaid, self.options) if unsaid else []
        nodes = [root, *parents, *chunk_nodes(document, chunks, (), (), root)]
        for message in message_nodes(document, sections, parents, root):
            nodes.append(message)
            if block := long.get(message.start):
                chunks = self.chunker.chunk(text, [block], self.options)
                nodes += message_chunks(document, message, chunks)
        return nodes


@dataclass(frozen=True, slots=True)
class Request:
    """What to take in. `documents` is read lazily, and again if another writer changes the same
    ones meanwhile, which an iterator does not allow."""

    documents: Iterable[Document | Skipped]
    message: str = ""
    request_id: str | None = None
    prune: Callable[[str], bool] | None = None
    """Says of a source whether its documents are ended if they were not seen now."""


@dataclass(frozen=True, slots=True)
class Again:
    """Documents that can be read more than once."""

    read: Callable[[], Iterable[Document | Skipped]]

    def __iter__(self) -> Iterator[Document | Skipped]:
        return iter(self.read())


@dataclass(slots=True)
class Outcome:
    """What an ingest did."""

    revision: int = 0
    nodes: int = 0
    passages: int = 0
    unchanged: int = 0
    ended: int = 0
    repaired: int = 0
    """Unchanged documents of which something stored was damaged."""
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[Skipped] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    pending_vectors: int = 0
    failed_vectors: int = 0
    """Of the repository: texts that were given up."""

    def to_dict(self) -> dict[str, Json]:
        data = asdict(self)
        data["counts"] = {kind: self.counts[kind] for kind in COUNTED}
        for name in ("skipped", "warnings"):
            data[name] = [{"path": s.path, "reason": s.reason} for s in getattr(self, name)]
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Json]) -> Outcome:
        skipped = [Skipped(**s) for s in data["skipped"]]
        warnings = [Skipped(**s, taken=True) for s in data["warnings"]]
        counts: Counter[str] = Counter(data["counts"])
        return cls(**{**data, "skipped": skipped, "warnings": warnings, "counts": counts})


def ingest(
    store: Store,
    scope: Scope,
    builder: Builder,
    request: Request,
    progress: Progress | None = None,
    asking: Asking | None = None,
    ahead: Ahead | None = None,
) -> Outcome:
    """One revision, or none if nothing changed. A request id that was seen answers as before."""
    if request.request_id == "":
        raise InvalidInput("the request id is empty; leave it out or name the request")
    if earlier := _earlier(store, scope, request.request_id):
        return earlier
    planning = Planning(store, scope, builder, progress, asking, ahead)
    try:
        for _ in range(_ATTEMPTS):
            with Spool[Any]() as spool, suppress(_Moved):
                return _commit(store, scope, request, spool, planning.plan(request, spool))
            _require_again(request.documents)
        raise StoreBusy("other writers keep changing the same documents; try again later")
    except Conflict:  # another writer carried out the same request while this one waited
        if earlier := _earlier(store, scope, request.request_id):
            return earlier
        raise


def _require_again(documents: Iterable[Document | Skipped]) -> None:
    if iter(documents) is documents:
        raise Conflict(
            "another writer changed the same documents while this ingest was prepared; try again"
        )


def _earlier(store: Store, scope: Scope, request_id: str | None) -> Outcome | None:
    found = store.request(scope, request_id) if request_id is not None else None
    return None if found is None else Outcome.from_dict(dict(found))


class _Moved(Exception):
    """A document that was left out as unchanged was changed by another writer meanwhile."""


class _Doc(NamedTuple):
    """What the commit has to know of a document, changed or not."""

    element_id: str
    source: str
    state: State
    counts: Mapping[str, int] = {}
    """What it adds to the outcome if anything of it is new."""


class _Batch(NamedTuple):
    """In the spool before the documents that changed: each is a Prepared, its pieces, and None."""

    unchanged: Sequence[_Doc]
    changed: Sequence[_Doc]
    repairs: Sequence[Tree] = ()
    """Unchanged documents of which something stored is damaged."""


@dataclass(slots=True)
class _Plan:
    """What was found before the commit."""

    head: int
    """Of the repository, when the first document was looked at."""
    outcome: Outcome = field(default_factory=Outcome)
    seen: dict[str, str] = field(default_factory=dict)
    """The source of each element."""


@dataclass(frozen=True, slots=True)
class Planning:
    """All that an ingest works out before its commit, which keeps other writers out."""

    store: Store
    scope: Scope
    builder: Builder
    progress: Progress | None = None
    asking: Asking | None = None
    ahead: Ahead | None = None

    def plan(self, request: Request, spool: Spool[Any]) -> _Plan:
        """What changed goes into the spool; generated contexts, and with `ahead` vectors, into the
        store."""
        plan = _Plan(self.store.resolve(self.scope, ReadContext()).revision)
        found = _documents(request.documents, plan.outcome, plan.seen, self.progress)
        for batch in _batches(found):
            live = self.store.current(self.scope, [document.element_id for document in batch])
            changed = [d for d in batch if live.get(d.element_id) != self._state(d)]
            kept = {id(document) for document in changed}
            unchanged = [d for d in batch if id(d) not in kept]
            if self.builder.contexts:
                self._fill(changed, plan.outcome)
            with _one_at_a_time(changed):
                self._add(spool, unchanged, changed)
        return plan

    def _add(
        self, spool: Spool[Any], unchanged: Sequence[Document], changed: Sequence[Document]
    ) -> None:
        trees = self.builder.build(changed)
        docs = [self._doc(d, tree) for d, tree in zip(changed, trees, strict=True)]
        damaged = self.store.damaged(self.scope, [d.element_id for d in unchanged])
        repairs = self.builder.build([d for d in unchanged if d.element_id in damaged])
        spool.add(_Batch([self._doc(d) for d in unchanged], docs, repairs))
        for tree in trees:
            asker.still_waits()
            prepared = self.store.prepare(tree)
            spool.add(replace(prepared, pieces=()))
            for piece in prepared.pieces:
                spool.add(piece)
            spool.add(None)
        if self.ahead and trees:
            self.ahead(trees)

    def _fill(self, documents: Sequence[Document], outcome: Outcome) -> None:
        """Generated contexts into the store, where `build` finds them; a warning where they are
        missing."""
        trees = self.builder.build(documents)
        for document, tree in zip(documents, trees, strict=True):
            assert self.builder.contexts is not None
            warning = self.builder.contexts.fill(document, tree.nodes, self.asking)
            if warning:
                outcome.warnings.append(warning)

    def _state(self, document: Document) -> State:
        return content_hash(document), self.builder.recipe_of(document), document.source

    def _doc(self, document: Document, tree: Tree | None = None) -> _Doc:
        counts: Counter[str] = Counter(node.kind for node in tree.nodes) if tree else Counter()
        pages = document.metadata.get("pages")
        if document.format == "pdf" and isinstance(pages, int):
            counts["page"] += pages
        counts.update("relationship" for link in document.links if "id" in link.metadata)
        return _Doc(document.element_id, document.source, self._state(document), counts)


@contextmanager
def _one_at_a_time(documents: Sequence[Document]) -> Iterator[None]:
    """Large documents are built one at a time in a process, whoever sends them: each takes memory
    many times its size. Who waits is asked meanwhile whether somebody still wants it."""
    if sum(map(_weight, documents)) < _LARGE:
        yield
        return
    while not _building.acquire(timeout=_LOOK_S):
        asker.still_waits()
    try:
        yield
    finally:
        _building.release()


def _commit(
    store: Store, scope: Scope, request: Request, spool: Iterable[Any], plan: _Plan
) -> Outcome:
    outcome = plan.outcome
    asker.still_waits()
    with store.commit(scope, message=request.message, request_id=request.request_id) as writer:
        moved = writer.revision != plan.head
        items = iter(spool)
        for batch in items:
            _write(writer, batch, items, outcome, moved)
        _prune(writer, request.prune, plan.seen, outcome)
        asker.still_waits()
        outcome.revision = writer.revision
        writer.result = outcome.to_dict()
    outcome.revision = writer.revision
    return outcome


def _write(
    writer: Writer, batch: _Batch, items: Iterator[Any], outcome: Outcome, moved: bool
) -> None:
    """The documents of a batch. Where another commit came between, it is looked at again what is
    unchanged."""
    looked_at = [*batch.changed, *(batch.unchanged if moved else ())]
    live = writer.current([doc.element_id for doc in looked_at])
    if moved and any(live.get(doc.element_id) != doc.state for doc in batch.unchanged):
        raise _Moved
    outcome.unchanged += len(batch.unchanged)
    for tree in batch.repairs:
        writer.repair(tree)
    outcome.repaired += len(batch.repairs)
    for doc in batch.changed:
        prepared = replace(next(items), pieces=_pieces(items))
        before = live.get(doc.element_id)
        if before == doc.state:  # another writer has brought the same
            outcome.unchanged += 1
        else:
            _put(writer, doc, prepared, before, outcome)
        for _ in prepared.pieces:
            """What was not wanted is passed over."""


def _pieces(items: Iterator[Any]) -> Iterator[Any]:
    """Those of one document."""
    for item in items:
        if item is None:
            return
        asker.still_waits()
        yield item


def _documents(
    found: Iterable[Document | Skipped],
    outcome: Outcome,
    seen: dict[str, str],
    progress: Progress | None,
) -> Iterator[Document]:
    """The documents, each element once; the rest is noted in the outcome. `seen` gets the source
    of each element."""
    again: dict[tuple[str, str], list[str]] = {}
    for item in found:
        if isinstance(item, Skipped):
            (outcome.warnings if item.taken else outcome.skipped).append(item)
        elif item.element_id in seen:
            again.setdefault((item.source, seen[item.element_id]), []).append(item.element_id)
        else:
            seen[item.element_id] = item.source
            yield item
            if progress:
                progress(item.source)
    for (source, first), ids in again.items():
        outcome.skipped.append(Skipped(source, _twice(ids, first)))


def _twice(ids: Sequence[str], first: str) -> str:
    if len(ids) == 1:
        return f"the id {ids[0]!r} stands twice in this ingest; that of {first} was kept"
    return (
        f"{len(ids)} ids, such as {ids[0]!r}, stand twice in this ingest; those of {first} were "
        "kept"
    )


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """A large document is alone in its batch."""
    batch: list[Document] = []
    size = 0
    for document in documents:
        weight = _weight(document)
        if batch and (size + weight > _BATCH_WEIGHT or len(batch) >= _BATCH_DOCUMENTS):
            asker.still_waits()
            yield batch
            batch, size = [], 0
        batch.append(document)
        size += weight
    asker.still_waits()
    if batch:
        yield batch


def _weight(document: Document) -> int:
    """About how much memory its tree takes, in characters of ordinary text: one with many headings
    has many nodes."""
    return len(document.text) + _BLOCK_WEIGHT * len(document.blocks)


def _put(
    writer: Writer, doc: _Doc, prepared: Prepared, before: State | None, outcome: Outcome
) -> None:
    if before and before[2] != doc.source:
        reason = f"the id {doc.element_id!r} came from {before[2]} before; this replaces it"
        outcome.warnings.append(Skipped(doc.source, reason, taken=True))
    born = writer.put(prepared)
    if not any(born.values()):  # its contexts are still missing
        outcome.unchanged += 1
        return
    outcome.nodes += born["nodes"]
    outcome.passages += born["passages"]
    outcome.counts.update(doc.counts)


def _prune(
    writer: Writer, wanted: Callable[[str], bool] | None, seen: Container[str], outcome: Outcome
) -> None:
    """A document whose file or folder is there but could not be read now is not gone."""
    unread = tuple({skipped.path for skipped in outcome.skipped})
    below = tuple(f"{path}/" for path in unread)
    gone = [
        element
        for element, source in (writer.live_elements() if wanted else ())
        if element not in seen
        and wanted is not None
        and wanted(source)
        and source not in unread
        and not source.startswith(below)
    ]
    for element_id in gone:
        writer.end(element_id)
    outcome.ended += len(gone)
