"""USE CASE: sources in, one committed revision out.

find files -> parse -> leave out what is unchanged -> chunk -> contextualise -> commit. Documents
pass through in small batches, so memory grows with the largest document, not with the corpus.
Vectors are filled in behind the commit (see indexing).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial

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
from sourcebook.errors import Conflict, InvalidInput
from sourcebook.model import ChunkOptions, Document, Json, Link, Node, Scope, Skipped, Tree
from sourcebook.ports import Store, Writer

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
_BATCH_CHARACTERS = 1 << 20
_BATCH_DOCUMENTS = 256

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
    """What to take in. `documents` is read once, lazily."""

    documents: Iterable[Document | Skipped]
    message: str = ""
    request_id: str | None = None
    prune: Callable[[str], bool] | None = None
    """Says of a source whether its documents are ended if they were not seen now."""


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
    try:
        if builder.contexts is None and ahead is None:
            return _commit(store, scope, builder, request, progress)
        with Spool[Document | Skipped]() as spool:
            for item in _prepared(store, scope, builder, request.documents, asking, ahead):
                spool.add(item)
                if progress and isinstance(item, Document):
                    progress(item.source)
            return _commit(store, scope, builder, replace(request, documents=spool), None)
    except Conflict:  # another writer carried out the same request while this one waited
        if earlier := _earlier(store, scope, request.request_id):
            return earlier
        raise


def _earlier(store: Store, scope: Scope, request_id: str | None) -> Outcome | None:
    found = store.request(scope, request_id) if request_id is not None else None
    return None if found is None else Outcome.from_dict(dict(found))


def _prepared(
    store: Store,
    scope: Scope,
    builder: Builder,
    found: Iterable[Document | Skipped],
    asking: Asking | None,
    ahead: Ahead | None,
) -> Iterator[Document | Skipped]:
    """The same, each document when its generated contexts, and with `ahead` its vectors, are in the
    store; a warning where contexts are missing. This may take long, so it comes before the commit
    that keeps other writers out."""
    others: list[Skipped] = []
    for batch in _batches(_documents_of(found, others)):
        with store.commit(scope) as writer:  # changes nothing, so makes no revision
            live = writer.current([document.element_id for document in batch])
        changed = [d for d in batch if live.get(d.element_id) != _state(d, builder)]
        trees = dict(zip(map(id, changed), builder.build(changed), strict=True))
        for document in batch:
            tree = trees.get(id(document))
            warning = None
            if tree and builder.contexts:
                warning = builder.contexts.fill(document, tree.nodes, asking)
            yield from [warning] if warning else []
            yield document
        if ahead and changed:
            ahead(builder.build(changed) if builder.contexts else list(trees.values()))
    yield from others


def _documents_of(found: Iterable[Document | Skipped], others: list[Skipped]) -> Iterator[Document]:
    for item in found:
        if isinstance(item, Skipped):
            others.append(item)
        else:
            yield item


def _commit(
    store: Store, scope: Scope, builder: Builder, request: Request, progress: Progress | None
) -> Outcome:
    outcome = Outcome()
    with store.commit(scope, message=request.message, request_id=request.request_id) as writer:
        seen: dict[str, str] = {}
        for batch in _batches(_documents(request.documents, outcome, seen, progress)):
            live = writer.current([document.element_id for document in batch])
            changed = [d for d in batch if _changed(live.get(d.element_id), d, builder, outcome)]
            for document, tree in zip(changed, builder.build(changed), strict=True):
                _put(writer, document, tree, outcome)
            made = {document.element_id for document in changed}
            _repair(writer, builder, [d for d in batch if d.element_id not in made], outcome)
        _prune(writer, request.prune, seen, outcome)
        outcome.revision = writer.revision
        writer.result = outcome.to_dict()
    outcome.revision = writer.revision
    return outcome


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
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if size >= _BATCH_CHARACTERS or len(batch) >= _BATCH_DOCUMENTS:
            asker.still_waits()
            yield batch
            batch, size = [], 0
    asker.still_waits()
    if batch:
        yield batch


def _changed(
    live: tuple[str, str, str] | None, document: Document, builder: Builder, outcome: Outcome
) -> bool:
    if live == _state(document, builder):
        outcome.unchanged += 1
        return False
    if live and live[2] != document.source:
        reason = f"the id {document.element_id!r} came from {live[2]} before; this replaces it"
        outcome.warnings.append(Skipped(document.source, reason, taken=True))
    return True


def _state(document: Document, builder: Builder) -> tuple[str, str, str]:
    return content_hash(document), builder.recipe_of(document), document.source


def _repair(
    writer: Writer, builder: Builder, unchanged: Sequence[Document], outcome: Outcome
) -> None:
    """Write again what is damaged of documents that have not changed."""
    wrong = writer.damaged([document.element_id for document in unchanged])
    found = [document for document in unchanged if document.element_id in wrong]
    for tree in builder.build(found):
        writer.repair(tree)
    outcome.repaired += len(found)


def _put(writer: Writer, document: Document, tree: Tree, outcome: Outcome) -> None:
    born = writer.put(tree)
    if not any(born.values()):  # its contexts are still missing
        outcome.unchanged += 1
        return
    pages = document.metadata.get("pages")
    if document.format == "pdf" and isinstance(pages, int):
        outcome.counts["page"] += pages
    outcome.counts.update("relationship" for link in document.links if "id" in link.metadata)
    outcome.nodes += born["nodes"]
    outcome.passages += born["passages"]
    outcome.counts.update(node.kind for node in tree.nodes)


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
