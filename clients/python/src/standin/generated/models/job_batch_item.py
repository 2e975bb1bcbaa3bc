from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.error import Error
    from ..models.job import Job


T = TypeVar("T", bound="JobBatchItem")


@_attrs_define
class JobBatchItem:
    """The result of a request in a batch. It has a job or an error.

    Attributes:
        status (int): The status that `createJob` has for the request: 201, 200, 400, or 408 or 500, with which you can
            repeat it.
        job (Job | Unset): A bot in a meeting. Every field is always present.
        replayed (bool | Unset): Whether the job existed. It is missing otherwise.
        warning (str | Unset): As in the header `X-Standin-Warning`.
        error (Error | Unset): An error.
    """

    status: int
    job: Job | Unset = UNSET
    replayed: bool | Unset = UNSET
    warning: str | Unset = UNSET
    error: Error | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        status = self.status

        job: dict[str, Any] | Unset = UNSET
        if not isinstance(self.job, Unset):
            job = self.job.to_dict()

        replayed = self.replayed

        warning = self.warning

        error: dict[str, Any] | Unset = UNSET
        if not isinstance(self.error, Unset):
            error = self.error.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "status": status,
            }
        )
        if job is not UNSET:
            field_dict["job"] = job
        if replayed is not UNSET:
            field_dict["replayed"] = replayed
        if warning is not UNSET:
            field_dict["warning"] = warning
        if error is not UNSET:
            field_dict["error"] = error

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.error import Error
        from ..models.job import Job

        d = dict(src_dict)
        status = d.pop("status")

        _job = d.pop("job", UNSET)
        job: Job | Unset
        if isinstance(_job, Unset):
            job = UNSET
        else:
            job = Job.from_dict(_job)

        replayed = d.pop("replayed", UNSET)

        warning = d.pop("warning", UNSET)

        _error = d.pop("error", UNSET)
        error: Error | Unset
        if isinstance(_error, Unset):
            error = UNSET
        else:
            error = Error.from_dict(_error)

        job_batch_item = cls(
            status=status,
            job=job,
            replayed=replayed,
            warning=warning,
            error=error,
        )

        job_batch_item.additional_properties = d
        return job_batch_item

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
