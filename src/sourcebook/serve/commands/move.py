"""`copy`, `dump` and `load`: a whole store to another one, or to a file and back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from sourcebook.errors import InvalidInput
from sourcebook.serve.options import Json, chosen
from sourcebook.serve.progress import bars
from sourcebook.serve.render import count
from sourcebook.serve.reply import Reply

if TYPE_CHECKING:
    from sourcebook.model import Scope
    from sourcebook.moving import Copied, Progress
    from sourcebook.ports import Store


def copy(
    ctx: typer.Context,
    source: Annotated[str, typer.Argument(metavar="FROM_URL", show_default=False)],
    target: Annotated[str, typer.Argument(metavar="TO_URL", show_default=False)],
    as_json: Json = False,
) -> Reply:
    """Copy all repositories of a store into another one, with their whole history; started again,
    it goes on where it was stopped."""
    from sourcebook.bootstrap import shown
    from sourcebook.moving import copy as copy_all
    from sourcebook.moving import kept

    if source == target:
        raise InvalidInput("a store cannot be copied into itself", field="target")
    with _opened(source, ctx) as here, _opened(target, ctx) as there, _told() as progress:
        made = copy_all(here, there, progress)
        left = kept(here, there, made)
    data = {"from": shown(source), "to": shown(target), **_summary(made)}
    data["kept"] = [
        {**_named(each.scope), "revision": each.revision, "newest": each.newest} for each in left
    ]
    return Reply(data, partial(_show, data), as_json)


def dump(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    as_json: Json = False,
) -> Reply:
    """Write all of the store into one file that any store can load."""
    from sourcebook.bootstrap import shown
    from sourcebook.portable import dump as dump_all

    url = chosen(ctx).settings().store
    if file.exists():
        raise InvalidInput(f"{file} is there already; choose another name", field="file")
    with _opened(url, ctx) as store, _told() as progress:
        made = dump_all(store, file, progress)
    data = {"from": shown(url), "to": str(file), **_summary(made)}
    return Reply(data, partial(_show, data), as_json)


def load(
    ctx: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", show_default=False)],
    as_json: Json = False,
) -> Reply:
    """Take all of a dumped file into the store; started again, it goes on where it was stopped."""
    from sourcebook.bootstrap import shown
    from sourcebook.portable import load as load_all

    url = chosen(ctx).settings().store
    with _opened(url, ctx) as store, _told() as progress:
        made = load_all(file, store, progress)
    data = {"from": str(file), "to": shown(url), **_summary(made)}
    return Reply(data, partial(_show, data), as_json)


@contextmanager
def _opened(url: str, ctx: typer.Context) -> Iterator[Store]:
    from sourcebook.bootstrap import open_store

    store = open_store(url, busy_timeout_s=chosen(ctx).settings().busy_timeout_s)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def _told() -> Iterator[Progress | None]:
    """A bar on a terminal; how much there is, is not known before."""
    with bars() as shown:
        if shown is None:
            yield None
            return

        def step(scope: Scope, table: str, rows: int) -> None:
            shown.step(f"{scope.repository}: {table}", rows, rows)

        yield step


def _summary(made: list[Copied]) -> dict[str, Any]:
    return {
        "repositories": [
            {
                **_named(each.scope),
                "revision": each.revision,
                "rows": dict(each.rows),
                "digest": each.digest,
                "resumed": each.resumed,
            }
            for each in made
        ]
    }


def _named(scope: Scope) -> dict[str, str]:
    whose = {"tenant": scope.tenant, "organization": scope.organization}
    return {**whose, "repository": scope.repository}


def _show(data: dict[str, Any], out: Console) -> None:
    for each in data.get("kept", ()):
        said = (
            f"{each['tenant']}/{each['repository']}: there already, at revision {each['revision']}"
        )
        if each["newest"] > each["revision"]:
            said += f", and left so; copy into a new store to have it at {each['newest']}"
        out.print(Text(said), soft_wrap=True)
    for each in data["repositories"]:
        rows = sum(each["rows"].values())
        place = f"{each['tenant']}/{each['repository']} at revision {each['revision']}"
        out.print(Text(f"{place}: {count(rows, 'row')}, verified, {each['digest'][:12]}"))
    number = count(len(data["repositories"]), "repository", "repositories")
    out.print(Text(f"{number} from {data['from']} to {data['to']}"), soft_wrap=True)
