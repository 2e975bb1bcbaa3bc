from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

if TYPE_CHECKING:
    from ..models.ingest_text import IngestText


T = TypeVar("T", bound="IngestTexts")


@_attrs_define
class IngestTexts:
    """Chat messages and captions that a bot read in the meeting, in the order of their changes. The bots of a job
    may report 100,000 texts, counting corrections, with 32 MiB of text and authors in all.

        Attributes:
            job_id (UUID): The ID of the bot's job.
            attempt (int): The number of the attempt, starting at 0.
            texts (list[IngestText]): The texts.
    """

    job_id: UUID
    attempt: int
    texts: list[IngestText]
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        job_id = str(self.job_id)

        attempt = self.attempt

        texts = []
        for texts_item_data in self.texts:
            texts_item = texts_item_data.to_dict()
            texts.append(texts_item)

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "jobId": job_id,
                "attempt": attempt,
                "texts": texts,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.ingest_text import IngestText

        d = dict(src_dict)
        job_id = UUID(d.pop("jobId"))

        attempt = d.pop("attempt")

        texts = []
        _texts = d.pop("texts")
        for texts_item_data in _texts:
            texts_item = IngestText.from_dict(texts_item_data)

            texts.append(texts_item)

        ingest_texts = cls(
            job_id=job_id,
            attempt=attempt,
            texts=texts,
        )

        ingest_texts.additional_properties = d
        return ingest_texts

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
