"""`keys`: make keys for network callers, list them and take them back."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.errors import InvalidInput
from sourcebook.serve.options import Json, chosen
from sourcebook.serve.render import note, one_line, table
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sourcebook.model import ApiKey

Rights = Literal["read", "write", "admin"]
keys = typer.Typer(no_args_is_help=True, help="Keys for those who ask over a network.")


@keys.command("create")
def create(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", show_default=False, help="Who will use it.")
    ],
    repository: Annotated[
        list[str] | None,
        typer.Option(metavar="R", help="One that it may read; may be given again. Default: all."),
    ] = None,
    role: Annotated[
        list[str] | None,
        typer.Option(metavar="R", help="A `visibility` label it may see; again for more."),
    ] = None,
    no_roles: Annotated[
        bool, typer.Option("--no-roles", help="It sees only what has no `visibility` label.")
    ] = False,
    rights: Annotated[Rights, typer.Option(help="What it may do.")] = "read",
    expires_in: Annotated[
        str | None, typer.Option(metavar="TIME", help="Such as 90d, 12h or 2w. Default: never.")
    ] = None,
    as_json: Json = False,
) -> Reply:
    """Make a key, and show it this once."""
    from sourcebook.access import Grant, parse_duration

    if role and no_roles:
        raise InvalidInput("give --role or --no-roles, not both", field="role")
    grant = Grant(
        name,
        tuple(repository) if repository else None,
        frozenset(role or ()) if role or no_roles else None,
        rights,
        parse_duration(expires_in) if expires_in is not None else None,
    )
    with chosen(ctx).open() as engine:
        made, key = engine.create_key(grant)
        there = {scope.repository for scope in engine.store.repositories(made.tenant)}
    missing = [each for each in made.repositories or () if each not in there]
    data = {**_public(made), "key": key}
    return Reply(data, partial(_show_new, made, key, missing), as_json)


@keys.command("list")
def list_keys(ctx: typer.Context, as_json: Json = False) -> Reply:
    """List the keys of the tenant, without what they open."""
    with chosen(ctx).open() as engine:
        found = engine.keys()
    data = {"keys": [_public(key) for key in found]}
    return Reply(data, partial(_show_keys, found), as_json)


@keys.command("revoke")
def revoke(
    ctx: typer.Context,
    key_id: Annotated[str, typer.Argument(metavar="ID", show_default=False)],
    as_json: Json = False,
) -> Reply:
    """Take a key back, at once and for ever."""
    with chosen(ctx).open() as engine:
        made = engine.revoke_key(key_id)
    line = f"{made.id} ({made.name}) is revoked"
    return Reply(_public(made), lambda out: out.print(Text(one_line(line))), as_json)


def _public(key: ApiKey) -> dict[str, Any]:
    """All that is known of a key but its hash."""
    from sourcebook.access import holds

    return {
        "id": key.id,
        "name": key.name,
        "tenant": key.tenant,
        "organization": key.organization,
        "repositories": None if key.repositories is None else list(key.repositories),
        "roles": None if key.roles is None else sorted(key.roles),
        "rights": key.rights,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "revoked_at": key.revoked_at,
        "last_used_at": key.last_used_at,
        "valid": holds(key),
    }


# --- for people ----------------------------------------------------------------------------------


def _show_new(made: ApiKey, key: str, missing: Sequence[str], out: Console) -> None:
    out.print(Text(key, style="bold"), soft_wrap=True)
    for name in missing:
        note(out, "note", f"there is no repository {name!r} yet")
    out.print(Text(f"this is the only time that it is shown; its id is {made.id}", style="dim"))


def _show_keys(found: Sequence[ApiKey], out: Console) -> None:
    if not found:
        out.print("there are no keys; `sourcebook keys create NAME` makes one")
        return
    columns = ("id", "name", "rights", "repositories", "roles", "last used", "state")
    rows = [
        (
            key.id,
            key.name,
            key.rights,
            _listed(key.repositories),
            _listed(None if key.roles is None else sorted(key.roles)),
            key.last_used_at and key.last_used_at[:16].replace("T", " "),
            _state(key),
        )
        for key in found
    ]
    table(out, columns, rows, whole=("id", "last used", "state"))


def _listed(names: Sequence[str] | None) -> str:
    return "all" if names is None else ", ".join(names) or "none"


def _state(key: ApiKey) -> str:
    from sourcebook.access import holds

    if key.revoked_at is not None:
        return "revoked"
    if key.expires_at is None:
        return "valid"
    return f"until {key.expires_at[:10]}" if holds(key) else "expired"
