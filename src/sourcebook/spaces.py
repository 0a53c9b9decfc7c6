"""USE CASE: which model answers, and how another one takes its place without a gap.

A repository has one active space, and searches use that alone, with the model that made it. A new
model's vectors are built beside it, in a space of their own; when none is missing, one transaction
makes the new space the active one. The old one is kept, so that going back costs only what came in
between, or dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sourcebook import indexing
from sourcebook.errors import InvalidInput, ModelUnavailable, SpaceMismatch
from sourcebook.model import ReadContext, Scope, Space
from sourcebook.ports import Embedder, Store

Makes = Callable[[str, str, int | None], Embedder]
"""Provider, model and dimensions in, the model that has them out."""


@dataclass(frozen=True, slots=True)
class Reindexed:
    """What a re-index did."""

    space: str
    embedded: int
    failed: int
    switched: bool
    """Whether the space became the active one now."""
    in_use: bool
    """Whether it is the active one."""
    dropped: str | None = None
    """The space that was active before, if it was dropped."""


@dataclass(frozen=True, slots=True)
class Spaces:
    """The spaces of one repository, and the models that fill them."""

    store: Store
    scope: Scope
    configured: Embedder
    make: Makes | None
    """None where only the configured model can be had."""
    chunker: Callable[[], str]
    """The name of the chunker that passages are made with."""

    def active(self) -> Space | None:
        """The space that searches use; None while nothing was embedded."""
        found = [space for space in self.store.spaces(self.scope) if space.state == "active"]
        return found[-1] if found else None

    def embedder(self, space: Space | None) -> Embedder:
        """The model that made a space: its vectors can be compared with no other's."""
        ours = self.configured
        if space is None or (space.provider, space.model) == (ours.provider, ours.model):
            return ours
        if self.make is None:
            raise SpaceMismatch(
                f"the store holds vectors of {space.model}, but {ours.model} is configured; set "
                f'embedding.model = "{space.model}", or use another --repository'
            )
        return self.make(space.provider, space.model, space.dimensions)

    def to_fill(self) -> list[tuple[Embedder, Space]]:
        """The active space first, then those that are being built."""
        if self.active() is None and self.store.resolve(self.scope, ReadContext()).revision:
            self.require()
        known = self.store.spaces(self.scope)
        wanted = [s for state in ("active", "building") for s in known if s.state == state]
        return [(self.embedder(space), space) for space in wanted]

    def require(self) -> Space:
        """The active space; a repository that has none gets one of the configured model."""
        active = self.active()
        return active or self.store.register_space(self.scope, self._space_of(self.configured))

    def reindex(
        self,
        name: str | None = None,
        *,
        drop_old: bool = False,
        accept_failed: bool = False,
        progress: indexing.Progress | None = None,
    ) -> Reindexed:
        """Build the space of a model, `provider/model`, or of the configured one, and switch to it
        when it is complete. With the active space's own model only what is missing is filled."""
        target, old = self._target(name), self.active()
        space = self._registered(target, active=old is None)
        embedded = 0
        while True:
            embedded += indexing.fill(self.store, target, self.scope, space, progress)
            health = self.store.index_health(self.scope, space)
            if space.state == "active" or health.pending or (health.failed and not accept_failed):
                in_use = space.state == "active"
                return Reindexed(space.id, embedded, health.failed, False, in_use)
            if self.store.switch_space(self.scope, space, missing=health.failed):
                break
        if old is not None and drop_old:
            self.store.drop_space(self.scope, old.id)
        dropped = old.id if old is not None and drop_old else None
        return Reindexed(space.id, embedded, health.failed, True, True, dropped)

    def drop(self, space_id: str) -> int:
        """How many vectors it held."""
        return self.store.drop_space(self.scope, space_id)

    def _target(self, name: str | None) -> Embedder:
        if name is None:
            return self.configured
        for space in self.store.spaces(self.scope):
            if name == space.id:
                return self.embedder(space)
        provider, _, model = name.partition("/")
        if not provider or not model:
            raise InvalidInput(
                f"{name!r} is no space: give PROVIDER/MODEL, such as local/gte-small, or a space "
                "that `sourcebook status` shows",
                field="space",
            )
        if (provider, model) == (self.configured.provider, self.configured.model):
            return self.configured
        if self.make is None:
            raise ModelUnavailable(f"the model {name} cannot be had here")
        return self.make(provider, model, None)

    def _registered(self, embedder: Embedder, *, active: bool) -> Space:
        """The space of a model: as it is, or made beside the active one."""
        for space in self.store.spaces(self.scope):
            made = (space.provider, space.model, space.dimensions)
            if made == (embedder.provider, embedder.model, embedder.dimensions):
                return space
        wanted = self._space_of(embedder)
        return self.store.register_space(
            self.scope, wanted if active else replace(wanted, state="building")
        )

    def _space_of(self, embedder: Embedder) -> Space:
        chunker = self.chunker()
        name = f"{embedder.provider}/{embedder.model}/{chunker}"
        if any(space.id == name for space in self.store.spaces(self.scope)):
            name = f"{name}@{embedder.dimensions}"
        return Space(name, embedder.provider, embedder.model, embedder.dimensions, chunker)
