from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.issue import Issue


T = TypeVar("T", bound="Error")


@_attrs_define
class Error:
    """An error.

    Attributes:
        error (str): A stable error code.
        message (str | Unset): A human-readable message. It may change.
        issues (list[Issue] | Unset): All issues of the request. Only present with `invalid_input`.
        doc_url (str | Unset): The page of the guide about errors, relative to the service.
    """

    error: str
    message: str | Unset = UNSET
    issues: list[Issue] | Unset = UNSET
    doc_url: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        error = self.error

        message = self.message

        issues: list[dict[str, Any]] | Unset = UNSET
        if not isinstance(self.issues, Unset):
            issues = []
            for issues_item_data in self.issues:
                issues_item = issues_item_data.to_dict()
                issues.append(issues_item)

        doc_url = self.doc_url

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "error": error,
            }
        )
        if message is not UNSET:
            field_dict["message"] = message
        if issues is not UNSET:
            field_dict["issues"] = issues
        if doc_url is not UNSET:
            field_dict["docUrl"] = doc_url

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.issue import Issue

        d = dict(src_dict)
        error = d.pop("error")

        message = d.pop("message", UNSET)

        _issues = d.pop("issues", UNSET)
        issues: list[Issue] | Unset = UNSET
        if _issues is not UNSET:
            issues = []
            for issues_item_data in _issues:
                issues_item = Issue.from_dict(issues_item_data)

                issues.append(issues_item)

        doc_url = d.pop("docUrl", UNSET)

        error = cls(
            error=error,
            message=message,
            issues=issues,
            doc_url=doc_url,
        )

        error.additional_properties = d
        return error

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
