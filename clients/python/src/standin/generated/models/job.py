from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.failure_code import FailureCode
from ..models.job_status import JobStatus
from ..models.platform import Platform

if TYPE_CHECKING:
    from ..models.job_auto_leave import JobAutoLeave
    from ..models.job_metadata import JobMetadata


T = TypeVar("T", bound="Job")


@_attrs_define
class Job:
    """A bot in a meeting. Every field is always present.

    Attributes:
        id (UUID): The ID of the job, assigned by the service.
        external_id (str): Your own ID for the job.
        status (JobStatus): The status of a job. `completed`, `failed` and `cancelled` are final.
        meeting_url (str): The URL of the meeting.
        platform (Platform): The meeting platform: `meet` is Google Meet, `teams` is Microsoft Teams, `zoom-web` is the
            Zoom
            web client, and `zoom-sdk` is Zoom's Realtime Media Streams. If the service receives no streams, `zoom-sdk`
            fails at
            dispatch.
        join_at (datetime.datetime): When the bot is scheduled to join.
        attempts (int): The number of times a bot was dispatched.
        created_at (datetime.datetime): When the job was created.
        started_at (datetime.datetime | None): When the bot reported for the first time, or null.
        finalized_at (datetime.datetime | None): When the manifest was stored, or null.
        manifest_uri (None | str): The URL of the manifest, or null until the job is finalized.
        failure_code (FailureCode | None): Why the job failed, or null if it did not fail.
        failure_detail (None | str): A human-readable explanation of the failure, or null if the job did not fail.
        metadata (JobMetadata): The metadata from the request.
        auto_leave (JobAutoLeave): The settings, including defaults.
    """

    id: UUID
    external_id: str
    status: JobStatus
    meeting_url: str
    platform: Platform
    join_at: datetime.datetime
    attempts: int
    created_at: datetime.datetime
    started_at: datetime.datetime | None
    finalized_at: datetime.datetime | None
    manifest_uri: None | str
    failure_code: FailureCode | None
    failure_detail: None | str
    metadata: JobMetadata
    auto_leave: JobAutoLeave
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        external_id = self.external_id

        status = self.status.value

        meeting_url = self.meeting_url

        platform = self.platform.value

        join_at = self.join_at.isoformat()

        attempts = self.attempts

        created_at = self.created_at.isoformat()

        started_at: None | str
        if isinstance(self.started_at, datetime.datetime):
            started_at = self.started_at.isoformat()
        else:
            started_at = self.started_at

        finalized_at: None | str
        if isinstance(self.finalized_at, datetime.datetime):
            finalized_at = self.finalized_at.isoformat()
        else:
            finalized_at = self.finalized_at

        manifest_uri: None | str
        manifest_uri = self.manifest_uri

        failure_code: None | str
        if isinstance(self.failure_code, FailureCode):
            failure_code = self.failure_code.value
        else:
            failure_code = self.failure_code

        failure_detail: None | str
        failure_detail = self.failure_detail

        metadata = self.metadata.to_dict()

        auto_leave = self.auto_leave.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "externalId": external_id,
                "status": status,
                "meetingUrl": meeting_url,
                "platform": platform,
                "joinAt": join_at,
                "attempts": attempts,
                "createdAt": created_at,
                "startedAt": started_at,
                "finalizedAt": finalized_at,
                "manifestUri": manifest_uri,
                "failureCode": failure_code,
                "failureDetail": failure_detail,
                "metadata": metadata,
                "autoLeave": auto_leave,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.job_auto_leave import JobAutoLeave
        from ..models.job_metadata import JobMetadata

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        external_id = d.pop("externalId")

        status = JobStatus(d.pop("status"))

        meeting_url = d.pop("meetingUrl")

        platform = Platform(d.pop("platform"))

        join_at = isoparse(d.pop("joinAt"))

        attempts = d.pop("attempts")

        created_at = isoparse(d.pop("createdAt"))

        def _parse_started_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                started_at_type_0 = isoparse(data)

                return started_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        started_at = _parse_started_at(d.pop("startedAt"))

        def _parse_finalized_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                finalized_at_type_0 = isoparse(data)

                return finalized_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        finalized_at = _parse_finalized_at(d.pop("finalizedAt"))

        def _parse_manifest_uri(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        manifest_uri = _parse_manifest_uri(d.pop("manifestUri"))

        def _parse_failure_code(data: object) -> FailureCode | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                failure_code_type_0 = FailureCode(data)

                return failure_code_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(FailureCode | None, data)

        failure_code = _parse_failure_code(d.pop("failureCode"))

        def _parse_failure_detail(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        failure_detail = _parse_failure_detail(d.pop("failureDetail"))

        metadata = JobMetadata.from_dict(d.pop("metadata"))

        auto_leave = JobAutoLeave.from_dict(d.pop("autoLeave"))

        job = cls(
            id=id,
            external_id=external_id,
            status=status,
            meeting_url=meeting_url,
            platform=platform,
            join_at=join_at,
            attempts=attempts,
            created_at=created_at,
            started_at=started_at,
            finalized_at=finalized_at,
            manifest_uri=manifest_uri,
            failure_code=failure_code,
            failure_detail=failure_detail,
            metadata=metadata,
            auto_leave=auto_leave,
        )

        job.additional_properties = d
        return job

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
