from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="JobOutcome")


@_attrs_define
class JobOutcome:
    """The current state or the outcome of the job in human-readable words, which may change.

    Attributes:
        title (str): What happened.
        text (str): What happened, in more detail.
        cause (None | str): The origin of the problem: `meeting`, `request` or `service`, or null if nothing went wrong.
        action (None | str): What to do next, or null.
        stage (None | str): How far the failed job got, or null.
        end_reason (None | str): `end.reason` of the manifest, or null.
        doc_url (None | str | Unset): The section of the runbook about the failure, relative to the service, or null if
            the job did not fail.
    """

    title: str
    text: str
    cause: None | str
    action: None | str
    stage: None | str
    end_reason: None | str
    doc_url: None | str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        title = self.title

        text = self.text

        cause: None | str
        cause = self.cause

        action: None | str
        action = self.action

        stage: None | str
        stage = self.stage

        end_reason: None | str
        end_reason = self.end_reason

        doc_url: None | str | Unset
        if isinstance(self.doc_url, Unset):
            doc_url = UNSET
        else:
            doc_url = self.doc_url

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "title": title,
                "text": text,
                "cause": cause,
                "action": action,
                "stage": stage,
                "endReason": end_reason,
            }
        )
        if doc_url is not UNSET:
            field_dict["docUrl"] = doc_url

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        title = d.pop("title")

        text = d.pop("text")

        def _parse_cause(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        cause = _parse_cause(d.pop("cause"))

        def _parse_action(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        action = _parse_action(d.pop("action"))

        def _parse_stage(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        stage = _parse_stage(d.pop("stage"))

        def _parse_end_reason(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        end_reason = _parse_end_reason(d.pop("endReason"))

        def _parse_doc_url(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        doc_url = _parse_doc_url(d.pop("docUrl", UNSET))

        job_outcome = cls(
            title=title,
            text=text,
            cause=cause,
            action=action,
            stage=stage,
            end_reason=end_reason,
            doc_url=doc_url,
        )

        job_outcome.additional_properties = d
        return job_outcome

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
