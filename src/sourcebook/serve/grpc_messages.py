"""An answer's JSON in, a message out; a message in, a request's JSON out: by the names of the
fields, so that nothing has to be listed here, and nothing forgotten.

Null in JSON is absent in a message. Three things differ in shape, to be typed and exact: metadata
is a Struct, the values of a filter are texts, and "*" for all repositories has its own field.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.struct_pb2 import ListValue, Struct
from google.protobuf.unknown_fields import UnknownFieldSet

from sourcebook.errors import InvalidInput
from sourcebook.serve.proto.sourcebook.v1 import semantic_query_pb2 as pb

Json = dict[str, Any]
_LOG = logging.getLogger(__name__)
_EXACT = 2**53
"""Beyond it a double does not hold every integer."""


# --- an answer becomes a message -----------------------------------------------------------------


def fill(message: Message, given: Mapping[str, Any]) -> None:
    """Set the fields of a message by their names; what is null stays absent."""
    fields = message.DESCRIPTOR.fields_by_name
    for name, value in given.items():
        if value is None:
            continue
        if name not in fields:
            _LOG.error("%s has no field %s; it was left out", message.DESCRIPTOR.name, name)
        elif fields[name].is_repeated:
            _fill_many(getattr(message, name), fields[name], value)
        elif fields[name].message_type is None:
            setattr(message, name, _clean(value))
        else:
            _fill_one(getattr(message, name), value)


def part_of(message: Message, given: Mapping[str, Any]) -> None:
    """As fill, of an answer that has more than this message tells."""
    names = message.DESCRIPTOR.fields_by_name
    fill(message, {name: value for name, value in given.items() if name in names})


def _fill_one(message: Message, value: Mapping[str, Any]) -> None:
    message.SetInParent()
    if isinstance(message, Struct):
        message.update(_plain(value))
    else:
        fill(message, value)


def _fill_many(target: Any, field: FieldDescriptor, value: Any) -> None:
    if field.message_type is None:
        target.extend(_clean(each) for each in value)
    elif _is_map(field):
        target.update({_clean(key): each for key, each in value.items()})
    else:
        for each in value:
            _fill_one(target.add(), each)


def _clean(value: Any) -> Any:
    """Half of a character, as in an odd file name, becomes the escape that JSON has for it."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    return value


def _plain(value: Any) -> Any:
    """What a Struct can hold: its numbers are doubles, so a greater integer becomes its digits."""
    if isinstance(value, Mapping):
        return {_clean(str(key)): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, int) and abs(value) > _EXACT:
        return str(value)
    return _clean(value)


# --- a message becomes JSON ----------------------------------------------------------------------


def to_dict(message: Message) -> Json:
    """Every field by its name; what is absent is None."""
    return {
        field.name: _value(field, getattr(message, field.name))
        if not field.has_presence or message.HasField(field.name)
        else None
        for field in message.DESCRIPTOR.fields
    }


def _value(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is None:
        return list(value) if field.is_repeated else value
    if _is_map(field):
        return {key: _inner(each) for key, each in value.items()}
    return [_inner(each) for each in value] if field.is_repeated else _inner(value)


def _inner(value: Any) -> Any:
    shape = _SHAPES.get(type(value))
    if shape is not None:
        return shape(value)
    return to_dict(value) if isinstance(value, Message) else value


def _struct(value: Struct) -> Json:
    return {key: _untyped(each) for key, each in value.items()}


def _untyped(value: Any) -> Any:
    if isinstance(value, Struct):
        return _struct(value)
    return [_untyped(each) for each in value] if isinstance(value, ListValue) else value


def _repositories(value: pb.Repositories) -> str | list[str]:
    if value.all and value.names:
        raise InvalidInput("repositories: give names or all, not both", field="repositories")
    return "*" if value.all else list(value.names)


_SHAPES: Mapping[type, Callable[[Any], Any]] = {
    Struct: _struct,
    pb.Values: lambda value: list(value.values),
    pb.Repositories: _repositories,
}


# --- bytes become a request ----------------------------------------------------------------------


def read(kind: type[Message], data: bytes) -> Json:
    """The request of the wire. An unknown field is refused, as on every surface: what it was meant
    to narrow would be answered as if it were not there."""
    message = kind()
    try:
        message.ParseFromString(data)
    except DecodeError:
        name = message.DESCRIPTOR.name
        raise InvalidInput(
            f"these bytes are no {name}; use the schema that reflection gives"
        ) from None
    _refuse_unknown(message)
    return {name: value for name, value in to_dict(message).items() if value is not None}


def _refuse_unknown(message: Message) -> None:
    for unknown in UnknownFieldSet(message):
        raise InvalidInput(
            f"{message.DESCRIPTOR.name} has no field number {unknown.field_number}; use the schema "
            "that reflection gives"
        )
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        values = value.values() if _is_map(field) else value if field.is_repeated else [value]
        for each in values:
            if isinstance(each, Message):
                _refuse_unknown(each)


def _is_map(field: FieldDescriptor) -> bool:
    kind = field.message_type
    return kind is not None and bool(kind.GetOptions().map_entry)
