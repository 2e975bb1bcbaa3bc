from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="IngestEventData")


@_attrs_define
class IngestEventData:
    """Details of the event. The service uses the keys below if their values have the described
    type, and stores but ignores all others. `lifecycle.media_fault` has `fault` (no_sound,
    frozen_picture, no_captions, no_chat or no_streams, with `detail`) and `state` (repairing, not_repaired or ended),
    for the timeline. Bots add `screens` to any event: what the meeting page
    showed since the event before, each with `at`, `screen` and its `evidence` (`kind`, `what`,
    `where` and `weight`; see docs/platforms.md). Control characters in free text are removed, and long
    text is cut.

        Attributes:
            failure_code (Any | Unset): String. `lifecycle.exited`: a failure code.
            failure_detail (Any | Unset): String. `lifecycle.exited`: why the bot failed.
            granted (Any | Unset): Boolean. `lifecycle.permission_response`: whether the host allowed the recording.
            outcome (Any | Unset): String. `lifecycle.permission_response`: granted, denied or timeout.
            detail (Any | Unset): String. `lifecycle.permission_response`: more about the outcome.
                `lifecycle.output_failed`: a human-readable explanation.
            command_id (Any | Unset): String. `lifecycle.output_*`: the ID of the command.
            command (Any | Unset): String. `lifecycle.output_*`: the kind of the command.
            reason (Any | Unset): String. `lifecycle.output_failed`: an `OutputFailure`.
            detected_bot_name (Any | Unset): String. `lifecycle.competing_bot_detected`: the name of the other bot.
            left_meeting (Any | Unset): Boolean. `lifecycle.competing_bot_detected`: whether the bot leaves.
            manifest_uri (Any | Unset): String. `manifest.finalized`: the URL of the manifest.
            end_reason (Any | Unset): String. Any event: why the bot left. With `bot_stopped`, `lifecycle.exited` does not
                end the job: the bot was stopped from outside while its meeting may go on, and counts as lost.
    """

    failure_code: Any | Unset = UNSET
    failure_detail: Any | Unset = UNSET
    granted: Any | Unset = UNSET
    outcome: Any | Unset = UNSET
    detail: Any | Unset = UNSET
    command_id: Any | Unset = UNSET
    command: Any | Unset = UNSET
    reason: Any | Unset = UNSET
    detected_bot_name: Any | Unset = UNSET
    left_meeting: Any | Unset = UNSET
    manifest_uri: Any | Unset = UNSET
    end_reason: Any | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        failure_code = self.failure_code

        failure_detail = self.failure_detail

        granted = self.granted

        outcome = self.outcome

        detail = self.detail

        command_id = self.command_id

        command = self.command

        reason = self.reason

        detected_bot_name = self.detected_bot_name

        left_meeting = self.left_meeting

        manifest_uri = self.manifest_uri

        end_reason = self.end_reason

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update({})
        if failure_code is not UNSET:
            field_dict["failureCode"] = failure_code
        if failure_detail is not UNSET:
            field_dict["failureDetail"] = failure_detail
        if granted is not UNSET:
            field_dict["granted"] = granted
        if outcome is not UNSET:
            field_dict["outcome"] = outcome
        if detail is not UNSET:
            field_dict["detail"] = detail
        if command_id is not UNSET:
            field_dict["commandId"] = command_id
        if command is not UNSET:
            field_dict["command"] = command
        if reason is not UNSET:
            field_dict["reason"] = reason
        if detected_bot_name is not UNSET:
            field_dict["detectedBotName"] = detected_bot_name
        if left_meeting is not UNSET:
            field_dict["leftMeeting"] = left_meeting
        if manifest_uri is not UNSET:
            field_dict["manifestUri"] = manifest_uri
        if end_reason is not UNSET:
            field_dict["endReason"] = end_reason

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        failure_code = d.pop("failureCode", UNSET)

        failure_detail = d.pop("failureDetail", UNSET)

        granted = d.pop("granted", UNSET)

        outcome = d.pop("outcome", UNSET)

        detail = d.pop("detail", UNSET)

        command_id = d.pop("commandId", UNSET)

        command = d.pop("command", UNSET)

        reason = d.pop("reason", UNSET)

        detected_bot_name = d.pop("detectedBotName", UNSET)

        left_meeting = d.pop("leftMeeting", UNSET)

        manifest_uri = d.pop("manifestUri", UNSET)

        end_reason = d.pop("endReason", UNSET)

        ingest_event_data = cls(
            failure_code=failure_code,
            failure_detail=failure_detail,
            granted=granted,
            outcome=outcome,
            detail=detail,
            command_id=command_id,
            command=command,
            reason=reason,
            detected_bot_name=detected_bot_name,
            left_meeting=left_meeting,
            manifest_uri=manifest_uri,
            end_reason=end_reason,
        )

        ingest_event_data.additional_properties = d
        return ingest_event_data

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
