from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..types import UNSET, Unset

T = TypeVar("T", bound="FailedDeliveries")


@_attrs_define
class FailedDeliveries:
    """Selects webhooks that failed permanently and match all given fields.

    Attributes:
        job_id (UUID | Unset): The ID of the job.
        endpoint_id (UUID | Unset): The ID of the endpoint.
        url (str | Unset): The webhook URL, exactly as configured.
        from_ (datetime.datetime | Unset): Only events at this time or later.
        to (datetime.datetime | Unset): Only events before this time.
    """

    job_id: UUID | Unset = UNSET
    endpoint_id: UUID | Unset = UNSET
    url: str | Unset = UNSET
    from_: datetime.datetime | Unset = UNSET
    to: datetime.datetime | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        job_id: str | Unset = UNSET
        if not isinstance(self.job_id, Unset):
            job_id = str(self.job_id)

        endpoint_id: str | Unset = UNSET
        if not isinstance(self.endpoint_id, Unset):
            endpoint_id = str(self.endpoint_id)

        url = self.url

        from_: str | Unset = UNSET
        if not isinstance(self.from_, Unset):
            from_ = self.from_.isoformat()

        to: str | Unset = UNSET
        if not isinstance(self.to, Unset):
            to = self.to.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if job_id is not UNSET:
            field_dict["jobId"] = job_id
        if endpoint_id is not UNSET:
            field_dict["endpointId"] = endpoint_id
        if url is not UNSET:
            field_dict["url"] = url
        if from_ is not UNSET:
            field_dict["from"] = from_
        if to is not UNSET:
            field_dict["to"] = to

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        _job_id = d.pop("jobId", UNSET)
        job_id: UUID | Unset
        if isinstance(_job_id, Unset):
            job_id = UNSET
        else:
            job_id = UUID(_job_id)

        _endpoint_id = d.pop("endpointId", UNSET)
        endpoint_id: UUID | Unset
        if isinstance(_endpoint_id, Unset):
            endpoint_id = UNSET
        else:
            endpoint_id = UUID(_endpoint_id)

        url = d.pop("url", UNSET)

        _from_ = d.pop("from", UNSET)
        from_: datetime.datetime | Unset
        if isinstance(_from_, Unset):
            from_ = UNSET
        else:
            from_ = isoparse(_from_)

        _to = d.pop("to", UNSET)
        to: datetime.datetime | Unset
        if isinstance(_to, Unset):
            to = UNSET
        else:
            to = isoparse(_to)

        failed_deliveries = cls(
            job_id=job_id,
            endpoint_id=endpoint_id,
            url=url,
            from_=from_,
            to=to,
        )

        failed_deliveries.additional_properties = d
        return failed_deliveries

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
