from __future__ import annotations

from collections.abc import Mapping
from typing import (
    TYPE_CHECKING,
    Any,
    Literal,
    TypeVar,
    cast,
)
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.chat_message_written_data_metadata import ChatMessageWrittenDataMetadata
    from ..models.webhook_chat_message import WebhookChatMessage


T = TypeVar("T", bound="ChatMessageWrittenData")


@_attrs_define
class ChatMessageWrittenData:
    """What happened.

    Attributes:
        event (Literal['chat.message']): Always `chat.message`.
        job_id (UUID): The ID of the job.
        external_id (str): The external ID of the job.
        message (WebhookChatMessage): A chat message.
        metadata (ChatMessageWrittenDataMetadata | Unset): The metadata of the job. Absent if they have more than 4 KiB.
        sequence (int | Unset): The number of the event within its job.
    """

    event: Literal["chat.message"]
    job_id: UUID
    external_id: str
    message: WebhookChatMessage
    metadata: ChatMessageWrittenDataMetadata | Unset = UNSET
    sequence: int | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        event = self.event

        job_id = str(self.job_id)

        external_id = self.external_id

        message = self.message.to_dict()

        metadata: dict[str, Any] | Unset = UNSET
        if not isinstance(self.metadata, Unset):
            metadata = self.metadata.to_dict()

        sequence = self.sequence

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "event": event,
                "jobId": job_id,
                "externalId": external_id,
                "message": message,
            }
        )
        if metadata is not UNSET:
            field_dict["metadata"] = metadata
        if sequence is not UNSET:
            field_dict["sequence"] = sequence

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.chat_message_written_data_metadata import (
            ChatMessageWrittenDataMetadata,
        )
        from ..models.webhook_chat_message import WebhookChatMessage

        d = dict(src_dict)
        event = cast(Literal["chat.message"], d.pop("event"))

        job_id = UUID(d.pop("jobId"))

        external_id = d.pop("externalId")

        message = WebhookChatMessage.from_dict(d.pop("message"))

        _metadata = d.pop("metadata", UNSET)
        metadata: ChatMessageWrittenDataMetadata | Unset
        if isinstance(_metadata, Unset):
            metadata = UNSET
        else:
            metadata = ChatMessageWrittenDataMetadata.from_dict(_metadata)

        sequence = d.pop("sequence", UNSET)

        chat_message_written_data = cls(
            event=event,
            job_id=job_id,
            external_id=external_id,
            message=message,
            metadata=metadata,
            sequence=sequence,
        )

        chat_message_written_data.additional_properties = d
        return chat_message_written_data

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
