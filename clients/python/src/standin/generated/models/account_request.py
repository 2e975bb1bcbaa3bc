from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

T = TypeVar("T", bound="AccountRequest")


@_attrs_define
class AccountRequest:
    """A bot asks for an account.

    Attributes:
        job_id (UUID): The ID of the bot's job.
        attempt (int): The number of the attempt, starting at 0.
        refusal (str | Unset): Why the page refused the bot as a guest.
        saml_request (str | Unset): The query with which Google asks who the bot is, for an account that signs in by
            SAML.
    """

    job_id: UUID
    attempt: int
    refusal: str | Unset = UNSET
    saml_request: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        job_id = str(self.job_id)

        attempt = self.attempt

        refusal = self.refusal

        saml_request = self.saml_request

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "jobId": job_id,
                "attempt": attempt,
            }
        )
        if refusal is not UNSET:
            field_dict["refusal"] = refusal
        if saml_request is not UNSET:
            field_dict["samlRequest"] = saml_request

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        job_id = UUID(d.pop("jobId"))

        attempt = d.pop("attempt")

        refusal = d.pop("refusal", UNSET)

        saml_request = d.pop("samlRequest", UNSET)

        account_request = cls(
            job_id=job_id,
            attempt=attempt,
            refusal=refusal,
            saml_request=saml_request,
        )

        account_request.additional_properties = d
        return account_request

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
