from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.heartbeat_failed import HeartbeatFailed
    from ..models.heartbeat_stats import HeartbeatStats


T = TypeVar("T", bound="Heartbeat")


@_attrs_define
class Heartbeat:
    """A heartbeat of a bot.

    Attributes:
        job_id (UUID): The ID of the bot's job.
        attempt (int): The number of the attempt, starting at 0.
        acked (list[UUID] | Unset): The IDs of commands that were executed, or could not be. They are not sent again.
        executing (list[UUID] | Unset): The IDs of commands that the bot received and is still executing. The response
            omits them, so that it can wait for the next command.
        failed (HeartbeatFailed | Unset): Why commands in `acked` could not be executed, by their IDs, for
            `command_failed` on the timeline. Longer reasons are cut at 500 characters.
        stats (HeartbeatStats | Unset): Statistics of the bot.
    """

    job_id: UUID
    attempt: int
    acked: list[UUID] | Unset = UNSET
    executing: list[UUID] | Unset = UNSET
    failed: HeartbeatFailed | Unset = UNSET
    stats: HeartbeatStats | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        job_id = str(self.job_id)

        attempt = self.attempt

        acked: list[str] | Unset = UNSET
        if not isinstance(self.acked, Unset):
            acked = []
            for acked_item_data in self.acked:
                acked_item = str(acked_item_data)
                acked.append(acked_item)

        executing: list[str] | Unset = UNSET
        if not isinstance(self.executing, Unset):
            executing = []
            for executing_item_data in self.executing:
                executing_item = str(executing_item_data)
                executing.append(executing_item)

        failed: dict[str, Any] | Unset = UNSET
        if not isinstance(self.failed, Unset):
            failed = self.failed.to_dict()

        stats: dict[str, Any] | Unset = UNSET
        if not isinstance(self.stats, Unset):
            stats = self.stats.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "jobId": job_id,
                "attempt": attempt,
            }
        )
        if acked is not UNSET:
            field_dict["acked"] = acked
        if executing is not UNSET:
            field_dict["executing"] = executing
        if failed is not UNSET:
            field_dict["failed"] = failed
        if stats is not UNSET:
            field_dict["stats"] = stats

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.heartbeat_failed import HeartbeatFailed
        from ..models.heartbeat_stats import HeartbeatStats

        d = dict(src_dict)
        job_id = UUID(d.pop("jobId"))

        attempt = d.pop("attempt")

        _acked = d.pop("acked", UNSET)
        acked: list[UUID] | Unset = UNSET
        if _acked is not UNSET:
            acked = []
            for acked_item_data in _acked:
                acked_item = UUID(acked_item_data)

                acked.append(acked_item)

        _executing = d.pop("executing", UNSET)
        executing: list[UUID] | Unset = UNSET
        if _executing is not UNSET:
            executing = []
            for executing_item_data in _executing:
                executing_item = UUID(executing_item_data)

                executing.append(executing_item)

        _failed = d.pop("failed", UNSET)
        failed: HeartbeatFailed | Unset
        if isinstance(_failed, Unset):
            failed = UNSET
        else:
            failed = HeartbeatFailed.from_dict(_failed)

        _stats = d.pop("stats", UNSET)
        stats: HeartbeatStats | Unset
        if isinstance(_stats, Unset):
            stats = UNSET
        else:
            stats = HeartbeatStats.from_dict(_stats)

        heartbeat = cls(
            job_id=job_id,
            attempt=attempt,
            acked=acked,
            executing=executing,
            failed=failed,
            stats=stats,
        )

        heartbeat.additional_properties = d
        return heartbeat

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
