from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field
from dateutil.parser import isoparse

from ..models.consent_request_outcome_type_1 import ConsentRequestOutcomeType1
from ..models.consent_request_outcome_type_2_type_1 import (
    ConsentRequestOutcomeType2Type1,
)
from ..models.consent_request_outcome_type_3_type_1 import (
    ConsentRequestOutcomeType3Type1,
)

T = TypeVar("T", bound="ConsentRequest")


@_attrs_define
class ConsentRequest:
    """A request for permission to record, and its outcome.

    Attributes:
        command_id (UUID): The ID of the command that requested permission.
        requested_at (datetime.datetime | None): When permission was requested.
        outcome (ConsentRequestOutcomeType1 | ConsentRequestOutcomeType2Type1 | ConsentRequestOutcomeType3Type1 | None):
            The outcome, or null if the host did not respond.
        responded_at (datetime.datetime | None): When the outcome was known, or null if the host did not respond.
    """

    command_id: UUID
    requested_at: datetime.datetime | None
    outcome: ConsentRequestOutcomeType1 | ConsentRequestOutcomeType2Type1 | ConsentRequestOutcomeType3Type1 | None
    responded_at: datetime.datetime | None
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        command_id = str(self.command_id)

        requested_at: None | str
        if isinstance(self.requested_at, datetime.datetime):
            requested_at = self.requested_at.isoformat()
        else:
            requested_at = self.requested_at

        outcome: None | str
        if isinstance(self.outcome, ConsentRequestOutcomeType1):
            outcome = self.outcome.value
        elif isinstance(self.outcome, ConsentRequestOutcomeType2Type1):
            outcome = self.outcome.value
        elif isinstance(self.outcome, ConsentRequestOutcomeType3Type1):
            outcome = self.outcome.value
        else:
            outcome = self.outcome

        responded_at: None | str
        if isinstance(self.responded_at, datetime.datetime):
            responded_at = self.responded_at.isoformat()
        else:
            responded_at = self.responded_at

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "commandId": command_id,
                "requestedAt": requested_at,
                "outcome": outcome,
                "respondedAt": responded_at,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        command_id = UUID(d.pop("commandId"))

        def _parse_requested_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                requested_at_type_0 = isoparse(data)

                return requested_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        requested_at = _parse_requested_at(d.pop("requestedAt"))

        def _parse_outcome(
            data: object,
        ) -> ConsentRequestOutcomeType1 | ConsentRequestOutcomeType2Type1 | ConsentRequestOutcomeType3Type1 | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                outcome_type_1 = ConsentRequestOutcomeType1(data)

                return outcome_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                outcome_type_2_type_1 = ConsentRequestOutcomeType2Type1(data)

                return outcome_type_2_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            try:
                if not isinstance(data, str):
                    raise TypeError()
                outcome_type_3_type_1 = ConsentRequestOutcomeType3Type1(data)

                return outcome_type_3_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(
                ConsentRequestOutcomeType1 | ConsentRequestOutcomeType2Type1 | ConsentRequestOutcomeType3Type1 | None,
                data,
            )

        outcome = _parse_outcome(d.pop("outcome"))

        def _parse_responded_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                responded_at_type_0 = isoparse(data)

                return responded_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        responded_at = _parse_responded_at(d.pop("respondedAt"))

        consent_request = cls(
            command_id=command_id,
            requested_at=requested_at,
            outcome=outcome,
            responded_at=responded_at,
        )

        consent_request.additional_properties = d
        return consent_request

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
