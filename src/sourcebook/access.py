"""USE CASE: an API key in, who asks out; and what of the store that caller may see and do.

A key is `sb_<id>_<secret>`. The id is public and finds the row; the secret is 256 random bits, of
which only a hash is kept.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sourcebook.errors import Forbidden, InvalidInput, NotFound, Unauthorized
from sourcebook.model import RIGHTS, ApiKey, Caller, ReadContext, Right, Scope
from sourcebook.names import LONGEST, check_name
from sourcebook.ports import Store

_KEY = re.compile(r"sb_([0-9a-f]{16})_([0-9a-f]{64})")
_NOBODY = "0" * 64
"""What a key of an unknown id is compared with, so that it takes as long as a known one."""
_LONGEST_LIFE = timedelta(days=36_500)
_TOUCH_EVERY = timedelta(minutes=1)
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


@dataclass(frozen=True, slots=True)
class Grant:
    """What a new key allows."""

    name: str
    repositories: tuple[str, ...] | None = None
    """None: all of the organization, also those that come later."""
    roles: frozenset[str] | None = None
    """None: whatever a document's `visibility` says."""
    rights: Right = "read"
    lasts: timedelta | None = None

    def check(self) -> None:
        check_name(self.name, "name")
        for repository in self.repositories or ():
            check_name(repository, "repository")
        for role in self.roles or ():
            check_name(role, "role")
        if self.rights not in RIGHTS:
            raise InvalidInput(
                f"rights are read, write or admin, not {self.rights!r}", field="rights"
            )
        if self.roles is not None and self.rights != "read":
            raise InvalidInput(
                "a key that is limited to roles can only read: whoever writes could replace what "
                "it may not see; leave out the roles, or make it a read key",
                field="rights",
            )
        if self.lasts is not None and not timedelta(0) < self.lasts <= _LONGEST_LIFE:
            raise InvalidInput(
                "a key lasts for at least a second and at most 100 years", field="expires_in"
            )


def create_key(
    store: Store, whose: Scope, grant: Grant, now: datetime | None = None
) -> tuple[ApiKey, str]:
    """What was kept of a key for this tenant and organization, and the key itself: the only time
    that anybody sees it."""
    grant.check()
    if not any(s.organization == whose.organization for s in store.repositories(whose.tenant)):
        check_name(whose.tenant, "tenant")
        check_name(whose.organization, "organization")
    now = now or datetime.now(UTC)
    key_id, secret = secrets.token_hex(8), secrets.token_hex(32)
    made = ApiKey(
        id=key_id,
        hash=_hash(secret),
        name=grant.name,
        tenant=whose.tenant,
        organization=whose.organization,
        repositories=_sorted(grant.repositories),
        roles=grant.roles,
        rights=grant.rights,
        created_at=_stamp(now),
        expires_at=_stamp(now + grant.lasts) if grant.lasts else None,
    )
    store.add_key(made)
    return made, f"sb_{key_id}_{secret}"


def keys_seen(store: Store, whose: Scope, caller: Caller | None) -> list[ApiKey]:
    """Of the tenant; a caller sees those of its organization."""
    found = store.keys(whose.tenant)
    return [k for k in found if caller is None or k.organization == caller.organization]


def revoke_key(store: Store, whose: Scope, caller: Caller | None, key_id: str) -> ApiKey:
    """One that is seen, and no other."""
    if key_id not in {key.id for key in keys_seen(store, whose, caller)}:
        raise NotFound(f"there is no key {key_id[:40]!r}; `sourcebook keys list` shows the ids")
    return store.revoke_key(whose.tenant, key_id)


def authenticate(store: Store, key: str, now: datetime | None = None) -> Caller:
    """Unauthorized, with one message, for a key that is unknown, malformed, revoked or expired."""
    now = now or datetime.now(UTC)
    parts = _KEY.fullmatch(key)
    if parts is None:
        raise Unauthorized
    known = store.key(parts[1])
    same = hmac.compare_digest(_hash(parts[2]), known.hash if known else _NOBODY)
    if known is None or not same or not holds(known, now):
        raise Unauthorized
    last = known.last_used_at
    if last is None or _stamp(now - _TOUCH_EVERY) >= last:
        store.touch_key(known.id)
    repositories = None if known.repositories is None else frozenset(known.repositories)
    return Caller(
        known.tenant, known.organization, repositories, known.roles, known.rights, known.id
    )


def holds(key: ApiKey, now: datetime | None = None) -> bool:
    """Neither revoked nor expired."""
    now = now or datetime.now(UTC)
    expired = key.expires_at is not None and key.expires_at <= _stamp(now)
    return key.revoked_at is None and not expired


def scope_for(store: Store, caller: Caller, repository: str, right: Right = "read") -> Scope:
    """What the caller sees of a repository. One that it may not read is not there, in the same
    words and after the same look at the store. Who may write may name a new one."""
    scope = Scope(caller.tenant, caller.organization, repository, caller.roles)
    known = store.resolve(scope, ReadContext()).revision > 0
    if not caller.may_read(repository):
        raise no_repository(repository)
    require(caller, right)
    if right == "read" and not known:
        raise no_repository(repository)
    return scope


def readable(
    store: Store, whose: Scope, caller: Caller | None, names: Sequence[str] | None
) -> list[Scope]:
    """The named repositories of an organization, or all, in the order of their names. Without a
    caller it is the owner of the store who asks, and sees what the scope `whose` sees."""
    roles = caller.roles if caller else whose.roles
    place = (caller or whose).tenant, (caller or whose).organization
    there = {
        scope.repository: Scope(*place, scope.repository, roles)
        for scope in store.repositories(place[0])
        if scope.organization == place[1] and (not caller or caller.may_read(scope.repository))
    }
    if names is None:
        return list(there.values())
    for name in names:
        if name not in there:
            raise no_repository(name)
    return [there[name] for name in sorted(set(names))]


def require(caller: Caller | None, right: Right) -> None:
    """Forbidden where the caller's key gives less; without a caller it is the owner who acts."""
    if caller is not None and not caller.may(right):
        raise Forbidden(
            f"this needs the right {right!r}, and the key has only {caller.rights!r}; use another "
            "key"
        )


def require_all(caller: Caller | None) -> None:
    """For what concerns the whole organization, such as keys: a key that is limited to some
    repositories could otherwise make itself one that is not."""
    require(caller, "admin")
    if caller is not None and caller.repositories is not None:
        raise Forbidden("this needs a key for all repositories; use another key")


def require_owner(caller: Caller | None) -> None:
    """For what reaches beyond a tenant: no key does."""
    if caller is not None:
        raise Forbidden("no key allows that; whoever runs this Sourcebook can do it")


def no_repository(name: str) -> NotFound:
    return NotFound(
        f"there is no repository {name[:LONGEST]!r} that may be read here; check its name",
        field="repository",
    )


def parse_duration(text: str) -> timedelta:
    """`90d`, `12h`, `30m`, `45s` or `2w`."""
    found = re.fullmatch(r"([0-9]{1,10})([smhdw])", text.strip())
    if found is None:
        raise InvalidInput(
            f"{text[:40]!r} is not a time such as 90d, 12h, 30m, 45s or 2w", field="expires_in"
        )
    # Ten digits of weeks are more than a timedelta holds; anything beyond the longest is refused.
    seconds = min(int(found[1]) * _UNITS[found[2]], _LONGEST_LIFE.total_seconds() + 1)
    return timedelta(seconds=seconds)


def _hash(secret: str) -> str:
    """A slow hash protects what people choose, since that can be guessed. 256 random bits cannot,
    however fast guesses are, and a fast hash costs each request nothing."""
    return hashlib.sha256(secret.encode("ascii")).hexdigest()


def _sorted(names: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if names is None else tuple(sorted(set(names)))


def _stamp(moment: datetime) -> str:
    """As the store writes times, so that they compare as text."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
