from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="Issue")


@_attrs_define
class Issue:
    """An issue of an invalid request.

    Attributes:
        path (list[int | str]): The location in the body, as field names and zero-based array indexes from the outermost
            to
            the innermost. Empty for the body itself. For a query, path or header parameter, its name.
        message (str): A human-readable message.
        code (str): The JSON Schema keyword that failed (`required`, `type`, `format`, `minimum`, `enum`, …),
            `invalid_json` for a body that is not valid JSON, `checksum` for a body that does not match its
            checksum, or `unknown` for an ID that does not exist.
    """

    path: list[int | str]
    message: str
    code: str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        path = []
        for path_item_data in self.path:
            path_item: int | str
            path_item = path_item_data
            path.append(path_item)

        message = self.message

        code = self.code

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "path": path,
                "message": message,
                "code": code,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        path = []
        _path = d.pop("path")
        for path_item_data in _path:

            def _parse_path_item(data: object) -> int | str:
                return cast(int | str, data)

            path_item = _parse_path_item(path_item_data)

            path.append(path_item)

        message = d.pop("message")

        code = d.pop("code")

        issue = cls(
            path=path,
            message=message,
            code=code,
        )

        issue.additional_properties = d
        return issue

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
