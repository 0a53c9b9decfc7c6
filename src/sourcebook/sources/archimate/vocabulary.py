"""Names of ArchiMate 3.2 as any file may write them in; the one name, its layer and its words out.

Older names and spellings (UsedBy, Infrastructure Service, Realisation) stand for today's.
"""

from __future__ import annotations

import re
from functools import lru_cache

_BY_LAYER = {
    "motivation": """Stakeholder Driver Assessment Goal Outcome Principle Requirement Constraint
        Meaning Value""",
    "strategy": "Resource Capability ValueStream CourseOfAction",
    "business": """BusinessActor BusinessRole BusinessCollaboration BusinessInterface
        BusinessProcess BusinessFunction BusinessInteraction BusinessEvent BusinessService
        BusinessObject Contract Representation Product""",
    "application": """ApplicationComponent ApplicationCollaboration ApplicationInterface
        ApplicationFunction ApplicationInteraction ApplicationProcess ApplicationEvent
        ApplicationService DataObject""",
    "technology": """Node Device SystemSoftware TechnologyCollaboration TechnologyInterface Path
        CommunicationNetwork TechnologyFunction TechnologyProcess TechnologyInteraction
        TechnologyEvent TechnologyService Artifact""",
    "physical": "Equipment Facility DistributionNetwork Material",
    "implementation": "WorkPackage Deliverable ImplementationEvent Plateau Gap",
    "composite": "Grouping Location",
    "other": "AndJunction OrJunction",
}
LAYER = {name: layer for layer, names in _BY_LAYER.items() for name in names.split()}
LAYERS = tuple(_BY_LAYER)
JUNCTIONS = frozenset({"AndJunction", "OrJunction"})
_PLACE = {name: place for place, name in enumerate(LAYER)}
_OLD_ELEMENTS = {
    "InfrastructureService": "TechnologyService",
    "InfrastructureFunction": "TechnologyFunction",
    "InfrastructureInterface": "TechnologyInterface",
    "Network": "CommunicationNetwork",
    "CommunicationPath": "Path",
    "BusinessActivity": "BusinessProcess",
    "Junction": "AndJunction",
}

RELATIONSHIPS = tuple(
    """composition aggregation realization assignment serving access triggering flow
    specialization influence association""".split()
)
"""In the order in which they are told of an element: what it is part of and does comes first."""
_OLD_RELATIONSHIPS = {
    "usedby": "serving",
    "realisation": "realization",
    "specialisation": "specialization",
}
_BEHAVIOUR = re.compile(r"(?:Process|Function|Interaction|Service|Event|WorkPackage|ValueStream)$")
_HOSTED = frozenset({"Artifact", "SystemSoftware", "ApplicationComponent", "DataObject"})
_VERBS = {  # (as its source, as its target)
    "composition": ("is composed of", "is part of"),
    "aggregation": ("aggregates", "is aggregated by"),
    "realization": ("realizes", "is realized by"),
    "assignment": ("is assigned to", "has assigned to it"),
    "serving": ("serves", "is served by"),
    "triggering": ("triggers", "is triggered by"),
    "flow": ("flows to", "receives a flow from"),
    "specialization": ("is a specialization of", "is specialized by"),
    "influence": ("influences", "is influenced by"),
    "association": ("is associated with", "is associated with"),
}
_ACCESS_VERBS = {
    "read": ("accesses (reads)", "is accessed (read) by"),
    "write": ("accesses (writes)", "is accessed (written) by"),
    "readWrite": ("accesses (reads and writes)", "is accessed (read and written) by"),
    "access": ("accesses", "is accessed by"),
}
ACCESS = {mode.lower(): mode for mode in _ACCESS_VERBS}

_VIEWPOINTS = """0 None|1 Actor Cooperation|2 Application Behavior|3 Application Cooperation
4 Application Structure|5 Application Usage|6 Business Function|7 Business Process Cooperation
8 Business Process|9 Product|10 Implementation and Deployment|11 Information Structure
12 Technology Usage|13 Technology|14 Layered|15 Organization|16 Service Realization
17 Stakeholder|18 Goal Realization|19 Goal Contribution|20 Principles
21 Requirements Realization|22 Motivation|23 Project|24 Migration
25 Implementation and Migration"""
_VIEWPOINT_NUMBERS = dict(
    entry.split(" ", 1) for line in _VIEWPOINTS.splitlines() for entry in line.split("|")
)
"""Archi wrote numbers until its version 3."""


def element_type(written: str) -> str:
    """Today's name of an element type; a name that the language does not have stays."""
    return _OLD_ELEMENTS.get(written, written)


def relationship_type(written: str) -> str:
    """A name of RELATIONSHIPS; one that the language does not have stays, in small letters."""
    name = written.lower().removesuffix("relationship") or "unknown"
    return _OLD_RELATIONSHIPS.get(name, name)


def layer(type: str) -> str:
    return LAYER.get(type, "other")


def place(type: str) -> tuple[int, str]:
    """Sorts element types in the order of the language; unknown ones come last."""
    return _PLACE.get(type, len(_PLACE)), type


@lru_cache(maxsize=1000)
def words(type: str) -> str:
    """`ApplicationService` as "Application Service"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type).replace(" Of ", " of ")


def verb(type: str, outgoing: bool, target_type: str, access: str = "") -> str:
    """What a relationship says of its source, or of its target: "serves", "is served by"."""
    if type == "access":
        return _ACCESS_VERBS.get(access, _ACCESS_VERBS["access"])[not outgoing]
    if type == "assignment" and _BEHAVIOUR.search(target_type):
        return "is assigned to and performs" if outgoing else "is performed by"
    if type == "assignment" and target_type in _HOSTED:
        return "is assigned to and hosts" if outgoing else "is hosted by"
    pair = _VERBS.get(type)
    if pair is None:
        return (
            f"has a relationship ({type}) to" if outgoing else f"has a relationship ({type}) from"
        )
    return pair[not outgoing]


def viewpoint(written: str) -> str:
    """`application_usage`, `5` and `Application Usage` are one viewpoint."""
    name = _VIEWPOINT_NUMBERS.get(written, written).replace("_", " ").replace("Co-op", "Coop")
    name = " ".join(w if w[:1].isupper() or w == "and" else w.capitalize() for w in name.split())
    return {"None": "", "Infrastructure": "Technology"}.get(name, name)
