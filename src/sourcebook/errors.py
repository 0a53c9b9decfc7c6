"""Every error that Sourcebook raises on purpose: one base, and messages that say what to do next.

A class's docstring is its default message; `code` is the stable name that programs see and
`exit_status` the command line's status. Adapters translate driver errors into these.
"""

from __future__ import annotations


class SourcebookError(Exception):
    """Something went wrong."""

    code = "error"
    exit_status = 2

    def __init__(self, message: str | None = None, *, field: str | None = None) -> None:
        super().__init__(message or type(self).__doc__ or "")
        self.field = field


class InvalidInput(SourcebookError):
    """The input is not usable; correct it and try again."""

    code = "invalid_input"


class ConfigError(InvalidInput):
    """The configuration is not valid; correct sourcebook.toml or the environment."""

    code = "invalid_config"


class NotFound(SourcebookError):
    """There is no such thing here."""

    code = "not_found"
    exit_status = 1


class RevisionDropped(NotFound):
    """Retention has dropped that revision."""

    code = "revision_dropped"

    def __init__(self, message: str | None = None, *, revision: int = 0) -> None:
        super().__init__(message, field="read_context")
        self.revision = revision


class Conflict(SourcebookError):
    """That name is taken; choose another one."""

    code = "conflict"


class Unauthorized(SourcebookError):
    """The key is not valid; ask whoever runs this Sourcebook for one that is."""

    code = "unauthorized"


class Forbidden(SourcebookError):
    """The key does not allow that; ask for one with more rights."""

    code = "forbidden"


class UnreadableSource(SourcebookError):
    """The file cannot be read as text."""

    code = "unreadable_source"


class StoreError(SourcebookError):
    """The store cannot be used; run `sourcebook status` to see why."""

    code = "store_unavailable"
    exit_status = 3


class StoreUnavailable(StoreError):
    """The store's server does not answer; check that it runs and can be reached."""


class Damaged(StoreError):
    """The store is damaged; ingest the original file again, or restore the store from a backup."""

    code = "damaged"


class StoreBusy(StoreError):
    """Another process is writing to the store; try again when it has finished."""

    code = "store_busy"


class StoreReadOnly(StoreError):
    """The store is read-only; make the file and its folder writable, or choose another --store."""

    code = "store_read_only"


class StoreTooNew(StoreError):
    """The store was made by a newer Sourcebook; upgrade with `pip install -U sourcebook`."""

    code = "store_too_new"


class SpaceMismatch(StoreError):
    """The vectors in the store come from another model; use that model or build a new space."""

    code = "space_mismatch"
    exit_status = 2


class ModelUnavailable(SourcebookError):
    """The embedding model is not installed; run `sourcebook model install`."""

    code = "model_unavailable"
    exit_status = 3


class TextRefused(ModelUnavailable):
    """The embedding service works, but refuses one of these texts; shorten it or leave it out."""

    code = "text_refused"
