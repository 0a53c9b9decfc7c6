"""What a reader may ask of the engine, by name: an engine and JSON arguments in, JSON out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from sourcebook import access
from sourcebook.access import Grant
from sourcebook.engine import Engine
from sourcebook.feedback import feedback_to_dict
from sourcebook.history import parse_read_context
from sourcebook.model import ApiKey, Citation, Filter, Json, Judgment, Node

Arguments = dict[str, Any]
Action = Callable[[Engine, Arguments], Json]


def _search(engine: Engine, given: Arguments) -> Json:
    return engine.search(**_options(given)).to_dict()


def _agent(engine: Engine, given: Arguments) -> Json:
    return engine.agent(**_options(given)).to_dict()


def _context(engine: Engine, given: Arguments) -> Json:
    return engine.context(**_options(given)).to_dict()


def _across(engine: Engine, given: Arguments) -> Json:
    return engine.search_across(**_options(given)).to_dict()


def _similar(engine: Engine, given: Arguments) -> Json:
    return engine.similar(**_options(given)).to_dict()


def _list(engine: Engine, given: Arguments) -> Json:
    return [_node(node) for node in engine.list(**_options(given))]


def _get(engine: Engine, given: Arguments) -> Json:
    options = _options(given)
    evidence = options.pop("evidence", False)
    node, text = engine.get(**options)
    return _node(node) | {
        "text": text,
        "quality": engine.quality(node, text, evidence=evidence),
    }


def _links(engine: Engine, given: Arguments) -> Json:
    return [asdict(link) for link in engine.links(**_options(given))]


def _status(engine: Engine, given: Arguments) -> Json:
    return engine.status() | {"lag": engine.lag()}


def _log(engine: Engine, given: Arguments) -> Json:
    return [asdict(revision) for revision in engine.log(**given)]


def _baselines(engine: Engine, given: Arguments) -> Json:
    return [asdict(baseline) for baseline in engine.baselines()]


def _diff(engine: Engine, given: Arguments) -> Json:
    return engine.diff(**given).to_dict()


def _verify(engine: Engine, given: Arguments) -> Json:
    return engine.verify(Citation(**given["citation"])).to_dict()


def _judge(engine: Engine, given: Arguments) -> Json:
    options = _options(given)
    options["citation"] = Citation(**options["citation"])
    return feedback_to_dict(engine.give_feedback(Judgment(**options)))


def _judgments(engine: Engine, given: Arguments) -> Json:
    return [feedback_to_dict(each) for each in engine.judgments()]


def _golden(engine: Engine, given: Arguments) -> Json:
    return asdict(engine.golden(**given))


def _repositories(engine: Engine, given: Arguments) -> Json:
    found = access.readable(engine.store, engine.scope, engine.caller, None)
    return [scope.repository for scope in found]


def _keys(engine: Engine, given: Arguments) -> Json:
    found = engine.keys()
    return [_key(key) for key in found]


def _revoke(engine: Engine, given: Arguments) -> Json:
    return _key(engine.revoke_key(given["key_id"]))


def _publish(engine: Engine, given: Arguments) -> Json:
    return asdict(engine.publish(given["baseline"]))


def _create_key(engine: Engine, given: Arguments) -> Json:
    """Only to be refused: a key that was made could be used."""
    access.require_all(engine.caller)
    Grant(**given).check()
    return None


def _drop_space(engine: Engine, given: Arguments) -> Json:
    return engine.drop_space(given["space"])


ACTIONS: dict[str, Action] = {
    "search": _search,
    "agent": _agent,
    "context": _context,
    "across": _across,
    "similar": _similar,
    "list": _list,
    "get": _get,
    "links": _links,
    "status": _status,
    "log": _log,
    "baselines": _baselines,
    "diff": _diff,
    "verify": _verify,
    "judge": _judge,
    "judgments": _judgments,
    "golden": _golden,
    "repositories": _repositories,
    "keys": _keys,
    "revoke": _revoke,
    "publish": _publish,
    "create_key": _create_key,
    "drop_space": _drop_space,
}


def _options(given: Arguments) -> Arguments:
    """Read contexts and filters as the engine takes them."""
    options = dict(given)
    if "read_context" in options:
        options["read_context"] = parse_read_context(options["read_context"])
    if "filters" in options:
        pairs = options["filters"].items()
        options["filters"] = tuple(Filter(key, tuple(values)) for key, values in pairs)
    return options


def _node(node: Node) -> dict[str, Json]:
    return asdict(node)


def _key(key: ApiKey) -> dict[str, Json]:
    """As `keys list` shows it."""
    shown = asdict(key)
    del shown["hash"]
    return shown | {"roles": None if key.roles is None else sorted(key.roles)}
