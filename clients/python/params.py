"""Makes the types of arguments, and the table of webhook events, from the API description.

python params.py DESCRIPTION FOLDER
"""

import json
import keyword
import re
import sys
from typing import Any

ROOTS = [
    "CalendarCreate",
    "CalendarPatch",
    "CameraPicture",
    "FailedDeliveries",
    "JobCreate",
    "JobPatch",
    "KeyCreate",
    "SharedPicture",
    "WebhookEndpointCreate",
    "WebhookEndpointPatch",
]
"""The schemas of bodies whose fields are the arguments of methods."""

PARAMS = '''"""The arguments of methods, and the dicts in them. params.py makes this file from the API description."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict
from uuid import UUID

if TYPE_CHECKING:
    from typing_extensions import Required
'''

EVENTS = '''"""The types of webhook data by event. params.py makes this file from the API description."""

from __future__ import annotations

from typing import Any, Union

from . import models

'''


def snake(name: str) -> str:
    name = re.sub(r"[A-Z]", lambda letter: "_" + letter[0].lower(), name)
    return name + "_" if keyword.iskeyword(name) else name


class Params:
    def __init__(self, schemas: dict[str, Any]) -> None:
        self.schemas = schemas
        self.classes: dict[str, str] = {}

    def type_of(self, schema: dict[str, Any], name: str) -> str:
        """Returns the type of a schema, whose own type, if it needs one, gets the name."""
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[-1]
            return self.type_of(self.schemas[name], name)
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(value) for value in schema['enum'])}] | str"
        if "const" in schema:
            return f"Literal[{schema['const']!r}]"
        for word in ("oneOf", "anyOf"):
            if word in schema and "properties" not in schema:
                return " | ".join(dict.fromkeys(self.type_of(option, name) for option in schema[word]))
        kinds = schema["type"]
        if isinstance(kinds, list):
            return " | ".join(self.type_of({**schema, "type": kind}, name) for kind in kinds)
        if kinds == "string":
            formats = {"date-time": "datetime.datetime | str", "uuid": "UUID | str", "date": "datetime.date | str"}
            return "bytes | str" if "contentEncoding" in schema else formats.get(schema.get("format", ""), "str")
        if kinds == "array":
            return f"Sequence[{self.type_of(schema['items'], name)}]"
        if kinds == "object":
            if "properties" not in schema:
                return "Mapping[str, Any]"
            self.add(schema, name)
            return name
        return {"boolean": "bool", "integer": "int", "number": "float", "null": "None"}[kinds]

    def add(self, schema: dict[str, Any], name: str) -> None:
        if name in self.classes:
            return
        self.classes[name] = ""
        text = f"class {name}(TypedDict, total=False):\n"
        text += f"    {json.dumps(schema['description'], ensure_ascii=False)}\n\n" if "description" in schema else ""
        for field, value in schema["properties"].items():
            if value.get("readOnly"):
                continue
            kind = self.type_of(value, name + field[0].upper() + field[1:])
            if field in schema.get("required", ()):
                kind = f"Required[{kind}]"
            text += f"    {snake(field)}: {kind}\n"
            described = {**self.schemas.get(value.get("$ref", "").rsplit("/", 1)[-1], {}), **value}
            if description := " ".join(described.get("description", "").split()):
                text += f"    {json.dumps(description, ensure_ascii=False)}\n"
        self.classes[name] = text


def main(description: str, folder: str) -> None:
    with open(description, encoding="utf-8") as file:
        schemas = json.load(file)["components"]["schemas"]
    params = Params(schemas)
    for name in ROOTS:
        params.add(schemas[name], name)
    with open(f"{folder}/params.py", "w", encoding="utf-8") as file:
        file.write(PARAMS + "\n\n".join(params.classes[name] for name in sorted(params.classes)))
    mapping = schemas["WebhookEvent"]["discriminator"]["mapping"]
    data = {event: f"models.{reference.rsplit('/', 1)[-1]}Data" for event, reference in mapping.items()}
    with open(f"{folder}/events.py", "w", encoding="utf-8") as file:
        file.write(EVENTS)
        file.write(
            "DATA: dict[str, Any] = {\n" + "".join(f"    {e!r}: {kind},\n" for e, kind in data.items()) + "}\n\n"
        )
        file.write(
            "WebhookData = Union[\n" + "".join(f"    {kind},\n" for kind in dict.fromkeys(data.values())) + "]\n"
        )


main(*sys.argv[1:])
