from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.live_stream_state import LiveStreamState
from ..models.live_stream_type import LiveStreamType
from ..types import UNSET, Unset

T = TypeVar("T", bound="LiveStream")


@_attrs_define
class LiveStream:
    """A change of a stream of live sound.

    Attributes:
        type_ (LiveStreamType): The kind of the event.
        stream (int): The index of the stream in the option `streams`, from 0.
        host (str): The host of its URL.
        state (LiveStreamState): `connected`; `disconnected`: the service connects again; `failed`: it does not.
        at (datetime.datetime): When it changed.
        reason (str | Unset): Why the stream is not connected. Absent if it is.
    """

    type_: LiveStreamType
    stream: int
    host: str
    state: LiveStreamState
    at: datetime.datetime
    reason: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        type_ = self.type_.value

        stream = self.stream

        host = self.host

        state = self.state.value

        at = self.at.isoformat()

        reason = self.reason

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "type": type_,
                "stream": stream,
                "host": host,
                "state": state,
                "at": at,
            }
        )
        if reason is not UNSET:
            field_dict["reason"] = reason

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        type_ = LiveStreamType(d.pop("type"))

        stream = d.pop("stream")

        host = d.pop("host")

        state = LiveStreamState(d.pop("state"))

        at = isoparse(d.pop("at"))

        reason = d.pop("reason", UNSET)

        live_stream = cls(
            type_=type_,
            stream=stream,
            host=host,
            state=state,
            at=at,
            reason=reason,
        )

        live_stream.additional_properties = d
        return live_stream

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
