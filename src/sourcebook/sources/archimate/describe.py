"""An element and the graph around it in; what its relationships say about it, in sentences, out.

The same graph gives the same words, whatever the order of the file: kinds of relationships in the
order of the language, then names, then identifiers. A text beyond the budget gets shorter lists
("and 7 more") before whole sentences are left out, and says what it left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sourcebook.sources.archimate.model import Element, Model, Relationship
from sourcebook.sources.archimate.vocabulary import JUNCTIONS, RELATIONSHIPS, layer, verb, words

BUDGET_WORDS = 120
_LISTED = (6, 4, 3, 2, 1)
"""How many neighbours of one kind are named: as many as the budget allows."""
_NAME_WORDS = 16
_REMARK_WORDS = 12
_MAX_CAPABILITIES = 3
_CAPABILITY_LENGTH = 500
"""The name goes into the metadata of all that belongs to it."""
_MAX_BEHIND = 50
"""Elements that are looked at behind a junction."""
_MAX_ABOVE = 200
"""Steps upward from an element in search of its capabilities."""
_PLACE = {type: place for place, type in enumerate(RELATIONSHIPS)}
_WHOLE_FIRST = ("composition", "aggregation")
_UPWARD = ("realization", "assignment")
_LAYER_WORDS = {"implementation": "implementation and migration"}

Order = tuple[int, int, str]
Mention = tuple[str, str, str]
"""Name for the order, identifier of the neighbour, words."""


def describe(element: Element, model: Model, budget_words: int = BUDGET_WORDS) -> str:
    return Describer(model).describe(element, budget_words)


@dataclass(frozen=True, slots=True)
class Describer:
    """Describes the elements of one model; keeps what several of them need."""

    model: Model
    _far: dict[tuple[str, str, bool], tuple[str, ...]] = field(default_factory=dict)
    _above: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _belongs: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def describe(self, element: Element, budget_words: int = BUDGET_WORDS) -> str:
        opening = self._opening(element)
        statements = self._statements(element)
        for listed in _LISTED:
            text = " ".join([opening, *(_sentence(*s, listed) for s in statements)])
            if len(text.split()) <= budget_words:
                return text
        return _cut(opening, statements, budget_words)

    def capabilities(self, element: Element) -> list[str]:
        """Names of the capabilities that it belongs to, directly or through others, nearest
        first."""
        if element.id not in self._belongs:
            found = (self.model.elements[id] for id in self._all_above(element.id))
            names = dict.fromkeys(
                e.label[:_CAPABILITY_LENGTH] for e in found if e.type == "Capability"
            )
            self._belongs[element.id] = tuple(names)
        return list(self._belongs[element.id])

    def _all_above(self, start: str) -> list[str]:
        seen, todo, steps = {start}, [start], 0
        for id in todo:  # grows while it is walked
            for above in self._directly_above(id)[: _MAX_ABOVE - steps]:
                steps += 1
                if above not in seen:
                    seen.add(above)
                    todo.append(above)
        return todo[1:]

    def _directly_above(self, id: str) -> tuple[str, ...]:
        if id not in self._above:
            model = self.model
            targets = [r.target for r in model.outgoing.get(id, ()) if r.type in _UPWARD]
            wholes = [r.source for r in model.incoming.get(id, ()) if r.type in _WHOLE_FIRST]
            ids = {end for end in targets + wholes if end in model.elements}
            self._above[id] = tuple(sorted(ids, key=self._key)[:_MAX_ABOVE])
        return self._above[id]

    def _key(self, id: str) -> tuple[str, str]:
        return self.model.elements[id].order

    def _opening(self, element: Element) -> str:
        kind = words(element.type) or "element"
        if element.specialization:
            kind = f"{element.specialization} ({kind})"
        article = "an" if kind[:1] in "AEIOUaeiou" else "a"
        name = layer(element.type)
        where = f" the {_LAYER_WORDS.get(name, name)} layer of"
        where = "" if name in ("composite", "other") else where
        subject = clip(element.label)
        opening = f"{subject} is {article} {kind} in{where} {clip(self.model.name)}."
        names = [clip(name) for name in self.capabilities(element)]
        if not names:
            return opening
        if len(names) == 1:
            return f"{opening} It belongs to the {names[0]} capability."
        return f"{opening} It belongs to the capabilities {_listing(names, _MAX_CAPABILITIES)}."

    def _statements(self, element: Element) -> list[tuple[str, list[str]]]:
        """A verb phrase and the neighbours that it holds for, most important first."""
        groups: dict[Order, list[Mention]] = {}
        for outgoing in (True, False):
            ends = self.model.outgoing if outgoing else self.model.incoming
            for relationship in ends.get(element.id, ()):
                order = self._order(element, relationship, outgoing)
                groups.setdefault(order, []).extend(self._mentions(relationship, outgoing))
        statements = []
        for order in sorted(groups):
            mentions = dict.fromkeys(text for *_, text in sorted(groups[order]))
            statements.append((order[2], list(mentions)))
        return statements

    def _order(self, element: Element, relationship: Relationship, outgoing: bool) -> Order:
        type = relationship.type
        target = element if not outgoing else self.model.elements.get(relationship.target)
        phrase = verb(type, outgoing, target.type if target else "", relationship.access)
        second = outgoing if type in _WHOLE_FIRST else not outgoing and type != "association"
        return _PLACE.get(type, len(_PLACE)), int(second), phrase

    def _mentions(self, relationship: Relationship, outgoing: bool) -> Iterator[Mention]:
        end = relationship.target if outgoing else relationship.source
        element = self.model.elements.get(end)
        remarks = list(self._remarks(relationship))
        if element is None:
            text = "; ".join([self._label(end), *remarks])
            yield text.casefold(), end, text
            return
        far = self._behind(end, relationship.type, outgoing) if element.type in JUNCTIONS else ()
        if far:
            remarks.append("through a junction")
        for id in far or (end,):
            other = self.model.elements[id]
            about = "; ".join([words(other.type), *remarks] if other.name else remarks)
            name = clip(other.label)
            yield *other.order, f"{name} ({about})" if about else name

    def _remarks(self, relationship: Relationship) -> Iterator[str]:
        if relationship.strength:
            yield f"strength {clip(relationship.strength, _REMARK_WORDS)}"
        if relationship.specialization:
            yield clip(relationship.specialization, _REMARK_WORDS)
        if relationship.name:
            yield f'"{clip(relationship.name, _REMARK_WORDS)}"'
        if relationship.documentation:
            yield clip(relationship.documentation, _REMARK_WORDS)
        model = self.model
        sides = [r.source for r in model.incoming.get(relationship.id, ())]
        sides += [r.target for r in model.outgoing.get(relationship.id, ())]
        beside = sorted(self._label(id) for id in sides)
        if beside:
            yield f"with {_listing(beside, 2)}"

    def _behind(self, junction: str, type: str, outgoing: bool) -> tuple[str, ...]:
        """The elements that relationships of this type reach through a junction, and through
        junctions behind it."""
        key = (junction, type, outgoing)
        if key not in self._far:
            self._far[key] = tuple(sorted(self._walk_behind(*key), key=self._key))
        return self._far[key]

    def _walk_behind(self, junction: str, type: str, outgoing: bool) -> Iterator[str]:
        elements = self.model.elements
        ends = self.model.outgoing if outgoing else self.model.incoming
        todo, seen = [junction], {junction}
        for id in todo:  # grows while it is walked
            near = [r for r in ends.get(id, ()) if r.type == type]
            for relationship in sorted(near, key=lambda r: r.id)[:_MAX_BEHIND]:
                end = relationship.target if outgoing else relationship.source
                if end in seen or end not in elements or len(seen) > _MAX_BEHIND:
                    continue
                seen.add(end)
                if elements[end].type in JUNCTIONS:
                    todo.append(end)
                else:
                    yield end

    def _label(self, id: str, depth: int = 0) -> str:
        """An end of a relationship in words; it may be a relationship itself."""
        element = self.model.elements.get(id)
        if element is not None:
            return clip(element.label)
        relationship = self.model.relationships.get(id)
        if relationship is None or depth > 1:
            return "another relationship"
        name = f' "{clip(relationship.name, _REMARK_WORDS)}"' if relationship.name else ""
        source = self._label(relationship.source, depth + 1)
        target = self._label(relationship.target, depth + 1)
        return f"the {relationship.type}{name} from {source} to {target}"


def _sentence(phrase: str, mentions: Sequence[str], listed: int) -> str:
    return f"It {phrase}: {_listing(mentions, listed)}."


def _listing(items: Sequence[str], listed: int) -> str:
    more = len(items) - listed
    if more > 0:
        return f"{', '.join(items[:listed])} and {more} more"
    return ", ".join(items)


def _cut(opening: str, statements: Sequence[tuple[str, list[str]]], budget_words: int) -> str:
    """One neighbour a kind, and as many kinds as there is room for."""
    text = opening
    for place, statement in enumerate(statements):
        longer = f"{text} {_sentence(*statement, 1)}"
        if len(longer.split()) > budget_words - 5:
            left = sum(len(mentions) for _, mentions in statements[place:])
            return f"{text} It has {left} more relationship{'s' if left > 1 else ''}."
        text = longer
    return text


def clip(text: str, limit: int = _NAME_WORDS) -> str:
    """The first words of a text, on one line; a word without end is cut too."""
    head = text[: limit * 40]
    found = head.split()
    if len(found) <= limit and len(head) == len(text):
        return " ".join(found)
    return " ".join(found[:limit]) + " …"
