from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.heartbeat_stats_roster import HeartbeatStatsRoster


T = TypeVar("T", bound="HeartbeatStats")


@_attrs_define
class HeartbeatStats:
    """Statistics of the bot.

    Attributes:
        bytes_recorded (int | Unset): Media bytes written to the spool.
        bytes_uploaded (int | Unset): Bytes of these that the service has stored.
        final_bytes (int | Unset): Size of the final files, once the bot uploads them.
        final_bytes_sent (int | Unset): Bytes of the final files sent so far. The timeline has an entry for each tenth.
        events_waiting (int | Unset): Events that the service has not yet received.
        recorded_millis (int | Unset): Length of the recording so far, in milliseconds.
        cores_used (float | Unset): CPU cores used by the bot and its browser, averaged over the last seconds. Omitted
            if they cannot be measured.
        memory_bytes (int | Unset): Memory used by the bot and its browser. Memory shared by several processes is
            divided among them. Omitted if it cannot be measured.
        core_seconds (float | Unset): Processor time of the bot and its browser since the bot began, in seconds.
        memory_gi_b_seconds (float | Unset): Their memory over that time, in GiB times seconds.
        roster (HeartbeatStatsRoster | Unset): The participants of the meeting. Omitted before the bot has joined.
    """

    bytes_recorded: int | Unset = UNSET
    bytes_uploaded: int | Unset = UNSET
    final_bytes: int | Unset = UNSET
    final_bytes_sent: int | Unset = UNSET
    events_waiting: int | Unset = UNSET
    recorded_millis: int | Unset = UNSET
    cores_used: float | Unset = UNSET
    memory_bytes: int | Unset = UNSET
    core_seconds: float | Unset = UNSET
    memory_gi_b_seconds: float | Unset = UNSET
    roster: HeartbeatStatsRoster | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        bytes_recorded = self.bytes_recorded

        bytes_uploaded = self.bytes_uploaded

        final_bytes = self.final_bytes

        final_bytes_sent = self.final_bytes_sent

        events_waiting = self.events_waiting

        recorded_millis = self.recorded_millis

        cores_used = self.cores_used

        memory_bytes = self.memory_bytes

        core_seconds = self.core_seconds

        memory_gi_b_seconds = self.memory_gi_b_seconds

        roster: dict[str, Any] | Unset = UNSET
        if not isinstance(self.roster, Unset):
            roster = self.roster.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if bytes_recorded is not UNSET:
            field_dict["bytesRecorded"] = bytes_recorded
        if bytes_uploaded is not UNSET:
            field_dict["bytesUploaded"] = bytes_uploaded
        if final_bytes is not UNSET:
            field_dict["finalBytes"] = final_bytes
        if final_bytes_sent is not UNSET:
            field_dict["finalBytesSent"] = final_bytes_sent
        if events_waiting is not UNSET:
            field_dict["eventsWaiting"] = events_waiting
        if recorded_millis is not UNSET:
            field_dict["recordedMillis"] = recorded_millis
        if cores_used is not UNSET:
            field_dict["coresUsed"] = cores_used
        if memory_bytes is not UNSET:
            field_dict["memoryBytes"] = memory_bytes
        if core_seconds is not UNSET:
            field_dict["coreSeconds"] = core_seconds
        if memory_gi_b_seconds is not UNSET:
            field_dict["memoryGiBSeconds"] = memory_gi_b_seconds
        if roster is not UNSET:
            field_dict["roster"] = roster

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.heartbeat_stats_roster import HeartbeatStatsRoster

        d = dict(src_dict)
        bytes_recorded = d.pop("bytesRecorded", UNSET)

        bytes_uploaded = d.pop("bytesUploaded", UNSET)

        final_bytes = d.pop("finalBytes", UNSET)

        final_bytes_sent = d.pop("finalBytesSent", UNSET)

        events_waiting = d.pop("eventsWaiting", UNSET)

        recorded_millis = d.pop("recordedMillis", UNSET)

        cores_used = d.pop("coresUsed", UNSET)

        memory_bytes = d.pop("memoryBytes", UNSET)

        core_seconds = d.pop("coreSeconds", UNSET)

        memory_gi_b_seconds = d.pop("memoryGiBSeconds", UNSET)

        _roster = d.pop("roster", UNSET)
        roster: HeartbeatStatsRoster | Unset
        if isinstance(_roster, Unset):
            roster = UNSET
        else:
            roster = HeartbeatStatsRoster.from_dict(_roster)

        heartbeat_stats = cls(
            bytes_recorded=bytes_recorded,
            bytes_uploaded=bytes_uploaded,
            final_bytes=final_bytes,
            final_bytes_sent=final_bytes_sent,
            events_waiting=events_waiting,
            recorded_millis=recorded_millis,
            cores_used=cores_used,
            memory_bytes=memory_bytes,
            core_seconds=core_seconds,
            memory_gi_b_seconds=memory_gi_b_seconds,
            roster=roster,
        )

        heartbeat_stats.additional_properties = d
        return heartbeat_stats

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
