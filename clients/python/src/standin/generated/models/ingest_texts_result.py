from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.ingest_texts_result_reason import IngestTextsResultReason
from ..types import UNSET, Unset

T = TypeVar("T", bound="IngestTextsResult")


@_attrs_define
class IngestTextsResult:
    """The result of reporting texts.

    Attributes:
        ok (bool): The request is processed.
        stored (int): The number of texts that are new or changed.
        reason (IngestTextsResultReason | Unset): Why nothing is stored. Omitted if the texts are stored.
    """

    ok: bool
    stored: int
    reason: IngestTextsResultReason | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        ok = self.ok

        stored = self.stored

        reason: str | Unset = UNSET
        if not isinstance(self.reason, Unset):
            reason = self.reason.value

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "ok": ok,
                "stored": stored,
            }
        )
        if reason is not UNSET:
            field_dict["reason"] = reason

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        ok = d.pop("ok")

        stored = d.pop("stored")

        _reason = d.pop("reason", UNSET)
        reason: IngestTextsResultReason | Unset
        if isinstance(_reason, Unset):
            reason = UNSET
        else:
            reason = IngestTextsResultReason(_reason)

        ingest_texts_result = cls(
            ok=ok,
            stored=stored,
            reason=reason,
        )

        ingest_texts_result.additional_properties = d
        return ingest_texts_result

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
