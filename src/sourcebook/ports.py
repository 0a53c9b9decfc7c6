"""What the engine asks of the world: a store that searches, and a model that embeds.

The store speaks the domain: it commits revisions, resolves read contexts and searches passages at
a revision. Every method takes the scope, so that no query can forget whose data it reads.
"""

from __future__ import annotations

import threading
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sourcebook.model import (
    ApiKey,
    Baseline,
    DamagedPart,
    Difference,
    DroppedVersion,
    Feedback,
    Filter,
    Json,
    Link,
    Match,
    Node,
    Passage,
    PreparedQuery,
    ReadContext,
    Resolved,
    Retained,
    Revision,
    Scope,
    Shown,
    Space,
    Tree,
)

Vectors = npt.NDArray[np.float32]
Floats = npt.NDArray[np.float64]
UNIT = 1e-3
"""How far from 1 the length of a vector may be."""


class EmbeddedQuery(NamedTuple):
    """What a model makes of a question: one vector, and one of each token if it gives those."""

    vector: Vectors
    tokens: Vectors | None = None
    """Each as long as the token counts."""


class Usage(NamedTuple):
    """What an embedder did since it was made."""

    requests: int = 0
    """Answers of a service; none for a model on this machine."""
    texts: int = 0
    tokens: int = 0
    """As the service counted them, or else as `count` does."""
    cost: float | None = 0.0
    """In US dollars; None where the price is not known."""


class Late(Protocol):
    """Token vectors as an embedder keeps them, and how alike two texts are by them."""

    def maxsim(self, query: Vectors, coded: Sequence[bytes]) -> Vectors:
        """For each text: the mean over the query's rows of the best cosine with one of its
        tokens."""
        ...

    def readable(self, coded: bytes) -> bool:
        """Whether it was coded as this embedder codes today."""
        ...

    def vectors(self, coded: bytes) -> Vectors:
        """The token vectors of one text."""
        ...


class Embedder(Protocol):
    """Turns text into vectors of unit length. Text longer than `max_tokens` is refused."""

    provider: str
    model: str

    @property
    def dimensions(self) -> int:
        """A service may have to be asked, so it can be ModelUnavailable."""
        ...

    @property
    def max_tokens(self) -> int:
        """Of the text itself: what the model takes less its own special tokens."""
        ...

    @property
    def usage(self) -> Usage:
        """Grows as texts are embedded, in whichever thread."""
        ...

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, without special tokens."""
        ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One row a document text, in the given order. TextRefused where a service would not
        take one of them, even alone."""
        ...

    def embed_query(self, text: str) -> EmbeddedQuery:
        """A query is cut at `max_tokens`, a document never."""
        ...

    @property
    def late(self) -> Late | None:
        """None where the model gives no token vectors."""
        ...

    def embed_late(self, texts: Sequence[str]) -> tuple[Vectors, list[bytes]]:
        """As `embed`, and each text's token vectors, coded. Only where `late` is there."""
        ...


class Generator(Protocol):
    """A language model: a prompt in, an answer out, or ModelUnavailable."""

    model: str

    def generate(
        self, system: str, user: str, *, schema: dict[str, Json] | None = None, max_tokens: int
    ) -> str:
        """Empty where the model refuses to answer. With a schema the answer is JSON."""
        ...

    def generate_json(
        self, system: str, user: str, *, schema: dict[str, Json], max_tokens: int
    ) -> Json:
        """Parsed; whether it follows the schema is for the caller to check."""
        ...


@dataclass(frozen=True, slots=True)
class Within:
    """Where a search looks: a revision, a resolution, filters, and optionally only inside some
    nodes (sections or whole documents), as staged retrieval does."""

    revision: int
    resolution: int = 2
    filters: tuple[Filter, ...] = ()
    parents: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class StoredPassage:
    """A passage as stored, with the node that it shows at the asked revision."""

    row: int
    node: Node
    passage: Passage
    text: str
    """The node's own text: the document's text from start to end."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A text that has no vector yet in a space."""

    text_hash: str
    text: str
    attempts: int = 0
    """How often it failed."""


@dataclass(frozen=True, slots=True)
class Backoff:
    """When a text that failed is tried again, and how often."""

    first_s: float = 1.0
    factor: float = 4.0
    longest_s: float = 600.0
    attempts: int | None = 5
    """After so many it is given up; None is never."""

    def wait_s(self, attempts: int, draw: float) -> float:
        """After the last of `attempts`. `draw`, from 0 to 1, keeps texts that failed together from
        coming back together."""
        exponent = min(attempts - 1, 64)
        return min(self.first_s * self.factor**exponent, self.longest_s) * (0.5 + draw / 2)


class Spent(NamedTuple):
    """What it took to embed a batch."""

    worker: str
    seconds: float
    tokens: int
    cost: float | None
    """In US dollars; None where the price is not known."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A text that could not be embedded."""

    text_hash: str
    text: str
    attempts: int
    error: str
    at: str
    next_try: str
    dead: bool
    """Given up: nobody tries it until `retry_failed`."""


@dataclass(frozen=True, slots=True)
class Spending:
    """What a model has done for a repository in all."""

    provider: str
    model: str
    texts: int
    tokens: int
    seconds: float
    cost: float | None
    """Of what has a known price; None if nothing has."""


@dataclass(frozen=True, slots=True)
class IndexHealth:
    """How far the vectors of a space are behind the texts."""

    pending: int = 0
    """Texts that wait for a vector; what was given up is not among them."""
    oldest_pending_s: float | None = None
    """How long ago the first commit was that still waits for one."""
    claimed: int = 0
    retrying: int = 0
    failed: int = 0
    """Given up."""
    vectors_per_s: float = 0.0
    """Over the last minutes."""
    spending: tuple[Spending, ...] = ()
    """Of all spaces of the repository."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What dense and full-text search say of some passages, on scales that do not depend on what
    else was found; one entry a passage."""

    cosine: Floats | None
    """NaN where a passage has no vector; None where nothing was to be compared with."""
    lexical: Floats
    """BM25 as a share of the most that the question's terms could give, 0 to 1."""
    vectors: Vectors | None
    """Rows of zeros where a passage has none."""


class Asked(NamedTuple):
    """One question that was asked and what became of it, for monitoring."""

    at: str
    """UTC, ISO 8601 with microseconds."""
    kind: str
    """search, agent or context."""
    text: str | None
    """None where the settings say not to keep it."""
    text_hash: str
    """Of the normalised text: equal questions have one."""
    revision: int
    mode: str
    rerank: str
    status: str
    relevance: float | None
    """Of the first hit."""
    results: int
    found_by_both: int
    dense_only: int
    sparse_only: int
    candidates: int
    latency_ms: float


class Neighbours(NamedTuple):
    """The passages nearest to a vector."""

    matches: list[Match]
    approximate: bool = False
    """Whether some of them may be missing: an index was asked that does not compare all."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of what a search may see has a vector."""

    passages: int
    vectors: int


class Examined(NamedTuple):
    """What was compared with its checksum."""

    rows: int
    damaged: tuple[DamagedPart, ...]


class Moved(NamedTuple):
    """A row on its way to another store."""

    key: tuple[Any, ...]
    """What its table is ordered by."""
    row: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document as a store writes it: all that can be worked out before the commit begins."""

    element_id: str
    text: str
    content: str
    """Names the text."""
    recipe: str
    labels: str | None
    pieces: Iterable[Any]
    """Its rows, as the store wants them, a bounded number in each; may be read once. Each can be
    pickled, so that they can wait in a file."""


class Writer(Protocol):
    """An open commit: everything put into it becomes one revision, or nothing does."""

    result: Mapping[str, object] | None
    """Set it to have it stored with the request id, in the same transaction."""

    @property
    def revision(self) -> int:
        """The one that this commit makes; head as long as nothing has changed."""
        ...

    def current(self, element_ids: Sequence[str]) -> Mapping[str, tuple[str, str, str]]:
        """(content hash, recipe, source) of those that are live documents."""
        ...

    def repair(self, tree: Tree) -> None:
        """Write the damaged rows of an unchanged document again as they were committed."""
        ...

    def put(self, given: Tree | Prepared) -> Mapping[str, int]:
        """Make the live rows of this document those of the tree; rows that are equal stay as they
        are. Returns the counts of rows born: {"nodes", "passages", "links"}."""
        ...

    def end(self, element_id: str) -> None:
        """End everything that belongs to this document."""
        ...

    def live_elements(self, sources: Sequence[str] | None = None) -> Iterator[tuple[str, str]]:
        """(element_id, source) of live documents whose source is one of these or lies below one;
        None means every document."""
        ...


class Store(Protocol):
    # writing
    def commit(
        self, scope: Scope, *, message: str = "", request_id: str | None = None
    ) -> AbstractContextManager[Writer]:
        """One transaction, one revision. Leaving the block without any change makes no revision;
        leaving it with an exception leaves the store as it was. A second writer waits, then gets
        StoreBusy; a request id that was carried out before is a Conflict."""
        ...

    def prepare(self, tree: Tree) -> Prepared:
        """What `Writer.put` would work out first. Its pieces are made as they are read."""
        ...

    def current(
        self, scope: Scope, element_ids: Sequence[str]
    ) -> Mapping[str, tuple[str, str, str]]:
        """(content hash, recipe, source) of those that are live documents now; for who may
        write."""
        ...

    def request(self, scope: Scope, request_id: str) -> Mapping[str, object] | None:
        """The recorded result of an earlier commit with this id."""
        ...

    # history
    def resolve(self, scope: Scope, context: ReadContext) -> Resolved:
        """RevisionDropped where that is a revision that retention has dropped; so is every read at
        one, and a read that it happens to."""
        ...

    def require_kept(self, scope: Scope, revision: int) -> None:
        """RevisionDropped if retention has dropped it: what was read of it before is whole if this
        passes."""
        ...

    def log(self, scope: Scope, limit: int | None = None) -> list[Revision]: ...
    def create_baseline(self, scope: Scope, name: str, revision: int) -> Baseline: ...
    def publish(self, scope: Scope, name: str) -> Baseline: ...
    def baselines(self, scope: Scope) -> list[Baseline]: ...

    def difference(
        self, scope: Scope, old: int, new: int, *, kind: str | None = None
    ) -> Difference:
        """What revision `old` shows and `new` does not, and the other way round; either may be the
        earlier one. Costs what changed between them. `kind` is of nodes."""
        ...

    def retain(self, scope: Scope, bound: int, *, dry_run: bool = False) -> Retained:
        """Drop the revisions before `bound`, but never head nor one that a baseline names, and all
        that only they showed; what every other revision answers stays the same, to the byte. A dry
        run only tells what would go."""
        ...

    def dropped_version(self, scope: Scope, version_id: str) -> list[DroppedVersion]:
        """Where a version stood that retention has dropped, newest first; empty if nothing of it
        was dropped."""
        ...

    def vacuum(self) -> None:
        """Give the room of what was dropped back. May take as long as writing the store anew."""
        ...

    # moving
    def export(
        self, scope: Scope, table: str, after: Sequence[object], head: int, limit: int
    ) -> list[Moved]:
        """Rows of a table as of a revision, in order, from the first one behind that key."""
        ...

    def copied(self, scope: Scope) -> Mapping[str, object] | None:
        """How far a copy into this repository has come. Conflict if it has a history of its own."""
        ...

    def take_in(
        self,
        scope: Scope,
        table: str,
        rows: Sequence[tuple[Any, ...]],
        state: Mapping[str, object],
    ) -> None:
        """Exported rows, and how far the copy has come with them; readers do not see them yet."""
        ...

    def finish_copy(self, scope: Scope, head: int, published: str | None) -> None: ...
    def take_in_key(self, key: ApiKey) -> None: ...

    # structured reads
    def node(self, scope: Scope, node_id: str, revision: int) -> Node | None: ...
    def versions(self, scope: Scope, version_id: str) -> list[Node]:
        """Every row of a version, newest first (a version's offsets may move while it stays). A
        reader with roles must be let in by the row's own labels and by those that its document has
        today; if the document has ended, by those that it had last."""
        ...

    def shown(self, scope: Scope, version_id: str) -> list[Shown]:
        """The same rows with the revisions that show them."""
        ...

    def nodes(
        self,
        scope: Scope,
        revision: int,
        *,
        kind: str | None = None,
        filters: tuple[Filter, ...] = (),
        limit: int = 100,
        after: str = "",
    ) -> list[Node]:
        """Visible nodes in order of id, from the first one behind `after`."""
        ...

    def text(self, scope: Scope, node: Node) -> str: ...
    def texts(self, scope: Scope, nodes: Sequence[Node]) -> list[str | None]:
        """Of each; None where there is no such version any more."""
        ...

    def links(self, scope: Scope, node_id: str, revision: int) -> list[Link]: ...
    def children(self, scope: Scope, node_id: str, revision: int, limit: int) -> list[Node]:
        """The visible nodes that a node contains, in the order of the text."""
        ...

    def relations(
        self, scope: Scope, node_ids: Sequence[str], revision: int, limit: int
    ) -> list[Link]:
        """What these nodes are connected with beside the structure of their documents: visible
        links at either end, each once."""
        ...

    def relations_among(
        self, scope: Scope, node_ids: Sequence[str], revision: int, limit: int
    ) -> list[Link]:
        """The same, where both ends are among these nodes."""
        ...

    def counts(self, scope: Scope, revision: int) -> Mapping[str, int]: ...

    # search
    def dense_search(
        self, scope: Scope, space: Space, vector: Vectors, k: int, within: Within
    ) -> Neighbours: ...
    def sparse_search(
        self, scope: Scope, query: PreparedQuery, k: int, within: Within
    ) -> list[Match]: ...
    def examine(self, scope: Scope, sample: int | None = None) -> Examined:
        """Compare all of a repository with its checksums, or of each table so many rows from a
        random place on."""
        ...

    def structure(self) -> Sequence[str]:
        """What the database itself finds wrong with its pages and indexes; reads all of it."""
        ...

    def damaged(self, scope: Scope, element_ids: Sequence[str]) -> Container[str]:
        """Those of these live documents of which anything stored does not match its checksum."""
        ...

    def damage(self, scope: Scope, revision: int, since: float) -> Sequence[DamagedPart]:
        """What reads have found damaged since that time.monotonic(), and so have left out, as far
        as the reader may know of the documents."""
        ...

    def passages(self, scope: Scope, revision: int, rows: Sequence[int]) -> list[StoredPassage]: ...
    def evidence(
        self,
        scope: Scope,
        space: Space | None,
        vector: Vectors | None,
        query: PreparedQuery,
        passages: Sequence[int],
        within: Within,
    ) -> Evidence:
        """What both searches say of these passages, which `within` leaves, found by them or not."""
        ...

    def coverage(self, scope: Scope, space: Space, within: Within) -> Coverage: ...
    def has_standing(self, scope: Scope, keys: Sequence[str]) -> bool:
        """Whether any revision says something of a document's standing: metadata under one of these
        keys, or that one supersedes another. Where not, nobody needs to look."""
        ...

    # vectors
    def spaces(self, scope: Scope) -> list[Space]: ...
    def register_space(self, scope: Scope, space: Space) -> Space:
        """The space of that id; made if new. SpaceMismatch if it is there with other contents."""
        ...

    def switch_space(self, scope: Scope, space: Space, missing: int = 0) -> bool:
        """Make it the one active space, if no more texts than `missing` have no vector in it;
        the one before is retired. Readers see one or the other, never none."""
        ...

    def drop_space(self, scope: Scope, space_id: str) -> int:
        """With all its vectors; how many there were. Conflict for the active one."""
        ...

    def pending(self, scope: Scope, space: Space, limit: int | None = None) -> list[Pending]:
        """Texts without a vector, once each: what head shows first, then the short ones."""
        ...

    def unembedded(self, scope: Scope, space: Space, hashes: Sequence[str]) -> list[str]:
        """Those of these texts that have no vector, in the given order."""
        ...

    def count_pending(self, scope: Scope, space: Space) -> int: ...
    def put_vectors(
        self,
        scope: Scope,
        space: Space,
        hashes: Sequence[str],
        vectors: Vectors,
        tokens: Sequence[bytes] | None = None,
        spent: Spent | None = None,
    ) -> None:
        """`tokens` are the texts' coded token vectors, where the model gives them. The first vector
        of a text stays. The texts' claims and failures end with it."""
        ...

    def token_vectors(
        self, scope: Scope, space: Space, passages: Sequence[int]
    ) -> list[bytes | None]:
        """Of each passage, in order; None where there are none."""
        ...

    # who embeds what
    def claim(
        self, scope: Scope, space: Space, worker: str, limit: int, lease_s: float
    ) -> list[Pending]:
        """Texts without a vector that nobody else holds and that may be tried now, from now on the
        worker's until its lease runs out. In the order of `pending`, but what has come or has been
        given back since the store last looked may come later, or be claimed by the next call.
        Empty only where there is nothing."""
        ...

    def wait_for_work(self, timeout_s: float, stop: threading.Event) -> None:
        """Until there may be something to claim, `stop` is set, or the time has passed."""
        ...

    def tend(self, scope: Scope) -> None:
        """Make ready what makes searches fast, where that is not done as vectors come. May take
        long; searches go on."""
        ...

    def next_claim_s(self, scope: Scope, space: Space) -> float | None:
        """Seconds until the next text can be claimed that somebody holds or that failed; None if
        there is no such text."""
        ...

    def renew(self, scope: Scope, space: Space, worker: str, lease_s: float) -> int:
        """Extends the worker's claims; how many it still has."""
        ...

    def release(
        self, scope: Scope, space: Space, worker: str, hashes: Sequence[str] | None = None
    ) -> None:
        """Gives these claims back, or all of the worker's."""
        ...

    def fail(
        self,
        scope: Scope,
        space: Space,
        worker: str,
        errors: Mapping[str, str],
        backoff: Backoff = Backoff(),
    ) -> None:
        """One attempt more at each of these texts has failed, and why. Ends the worker's claims."""
        ...

    def failures(self, scope: Scope, space: Space, limit: int) -> list[Failure]:
        """What was given up first, then the newest."""
        ...

    def retry_failed(self, scope: Scope, space: Space) -> int:
        """Forgets all failures, so that their texts are claimed again; how many there were."""
        ...

    def index_health(self, scope: Scope, space: Space) -> IndexHealth:
        """A reader with roles is told of the texts that it may see, and nothing of the work."""
        ...

    # what a language model answered
    def generated(self, scope: Scope, keys: Sequence[str]) -> dict[str, str]:
        """The answers that were kept under these keys."""
        ...

    def keep_generated(self, scope: Scope, answers: Mapping[str, str]) -> None:
        """In a short transaction of its own. The first answer of a key stays."""
        ...

    # quality
    def unscored(
        self, scope: Scope, analyzer: str, limit: int, since: int = 0, after: int = 0
    ) -> dict[int, Node]:
        """Node versions born at that revision or later that this analyzer has not scored yet, each
        once, oldest first: by a number that rises, from the one behind `after` on."""
        ...

    def put_quality(self, scope: Scope, analyzer: str, scores: Mapping[str, Json]) -> None: ...
    def quality(self, scope: Scope, analyzer: str, versions: Sequence[str]) -> dict[str, Json]: ...

    # monitoring
    def storage(self) -> Mapping[str, Json]:
        """What the whole store takes: `kind`, `bytes`, and what its database can tell beside."""
        ...

    @property
    def queries_dropped(self) -> int:
        """Rows for the query log that this store had to give up since it was opened."""
        ...

    def log_queries(self, scope: Scope, rows: Sequence[Asked]) -> None:
        """Returns at once and never fails; the rows are written a little later, or dropped."""
        ...

    def query_log(self, scope: Scope, since: str | None, limit: int) -> list[Asked]:
        """Newest first; `since` is a time as in Asked."""
        ...

    # repositories and keys
    def repositories(self, tenant: str | None = None) -> list[Scope]:
        """Those that something was written to, of a tenant or of all, in the order of their names.
        Names that differ in a single code point are different."""
        ...

    def add_key(self, key: ApiKey) -> None: ...
    def key(self, key_id: str) -> ApiKey | None:
        """Of any tenant: whose it is, is what is asked. Seen by others as soon as it is there."""
        ...

    def keys(self, tenant: str | None) -> list[ApiKey]:
        """Oldest first, those that hold no more included; None: of all tenants."""
        ...

    def revoke_key(self, tenant: str, key_id: str) -> ApiKey:
        """From now on; the first time stays. NotFound for a key of another tenant."""
        ...

    def touch_key(self, key_id: str) -> None:
        """It was used. Returns at once and never fails; written a little later, once a minute at
        most, or dropped."""
        ...

    # what people say of results
    def add_feedback(
        self, scope: Scope, given: Feedback, request_id: str | None = None
    ) -> Feedback:
        """What was kept. A request id is one of its key: the first judgment stays."""
        ...

    def feedback_of_request(
        self, scope: Scope, key_id: str | None, request_id: str
    ) -> Feedback | None: ...
    def feedback(self, scope: Scope, limit: int | None = None) -> list[Feedback]:
        """Newest first, of versions that the reader may see."""
        ...

    def close(self) -> None: ...
