"""Azure's form of OpenAI's protocol: the deployment is in the path, the version in the query."""

from __future__ import annotations

import re
from dataclasses import replace

from sourcebook.config import Embedding
from sourcebook.environment import DEPLOYMENT, ENDPOINT, KEYS, deployment, embedding_key, endpoint
from sourcebook.errors import ConfigError
from sourcebook.models.openai import protocol
from sourcebook.models.wire import Wire

_NAME = re.compile(r"[\w.-]{1,64}")


def wire(ours: Embedding) -> Wire:
    address = ours.base_url or endpoint()
    if not address:
        raise ConfigError(f"set {ENDPOINT}, such as https://NAME.openai.azure.com")
    name = deployment() or ours.model
    if not _NAME.fullmatch(name):
        raise ConfigError(f"{name!r} cannot be the name of a deployment; correct {DEPLOYMENT}")
    made = protocol(ours, "Azure OpenAI", address, f"openai/deployments/{name}/embeddings")
    key = KEYS["azure"]
    return replace(
        made,
        key=embedding_key("azure", address),
        needs_key=True,
        header=("api-key", ""),
        query={"api-version": ours.api_version},
        advice=f"check {ENDPOINT} and [embedding] in sourcebook.toml",
        hints={
            "key": f"set {key}, which goes only over https or to this machine",
            "model": f"check {ENDPOINT}, and that {DEPLOYMENT} names a deployment there",
        },
    )
