from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

T = TypeVar("T", bound="WebhookChatMessage")


@_attrs_define
class WebhookChatMessage:
    """A chat message.

    Attributes:
        id (str): The ID of the message. A message with the ID of an earlier one replaces it.
        participant_id (str): The ID of the author. Empty if it is unknown.
        author (str): The name of the author. Empty if it is unknown.
        text (str): The text.
        sent_at (datetime.datetime): When it was written.
    """

    id: str
    participant_id: str
    author: str
    text: str
    sent_at: datetime.datetime
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = self.id

        participant_id = self.participant_id

        author = self.author

        text = self.text

        sent_at = self.sent_at.isoformat()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "participantId": participant_id,
                "author": author,
                "text": text,
                "sentAt": sent_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        id = d.pop("id")

        participant_id = d.pop("participantId")

        author = d.pop("author")

        text = d.pop("text")

        sent_at = isoparse(d.pop("sentAt"))

        webhook_chat_message = cls(
            id=id,
            participant_id=participant_id,
            author=author,
            text=text,
            sent_at=sent_at,
        )

        webhook_chat_message.additional_properties = d
        return webhook_chat_message

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
