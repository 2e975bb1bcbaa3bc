from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.job_status import JobStatus

T = TypeVar("T", bound="AccountUsesItem")


@_attrs_define
class AccountUsesItem:
    """A use of the account.

    Attributes:
        job_id (UUID): The ID of the job.
        at (datetime.datetime): When the bot got the account.
        active (bool): Whether the bot still has it.
        reason (str): Why this account was chosen, for people.
        status (JobStatus): The status of a job. `completed`, `failed` and `cancelled` are final.
        failure_code (None | str): The failure code of the job.
    """

    job_id: UUID
    at: datetime.datetime
    active: bool
    reason: str
    status: JobStatus
    failure_code: None | str
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        job_id = str(self.job_id)

        at = self.at.isoformat()

        active = self.active

        reason = self.reason

        status = self.status.value

        failure_code: None | str
        failure_code = self.failure_code

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "jobId": job_id,
                "at": at,
                "active": active,
                "reason": reason,
                "status": status,
                "failureCode": failure_code,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        job_id = UUID(d.pop("jobId"))

        at = isoparse(d.pop("at"))

        active = d.pop("active")

        reason = d.pop("reason")

        status = JobStatus(d.pop("status"))

        def _parse_failure_code(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        failure_code = _parse_failure_code(d.pop("failureCode"))

        account_uses_item = cls(
            job_id=job_id,
            at=at,
            active=active,
            reason=reason,
            status=status,
            failure_code=failure_code,
        )

        account_uses_item.additional_properties = d
        return account_uses_item

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
