from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.account_state import AccountState


T = TypeVar("T", bound="AccountResponse")


@_attrs_define
class AccountResponse:
    """An account for a bot.

    Attributes:
        account (str): The label of the account; empty without one.
        reason (str): Why it is this account, or why there is none; empty for a guest who needs none.
        state (AccountState): What signs a browser in.
        sign_in_url (str | Unset): Where a sign-in by SAML starts. Only for an account that signs in so.
        page (str | Unset): The page that answers `samlRequest`.
    """

    account: str
    reason: str
    state: AccountState
    sign_in_url: str | Unset = UNSET
    page: str | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        account = self.account

        reason = self.reason

        state = self.state.to_dict()

        sign_in_url = self.sign_in_url

        page = self.page

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "account": account,
                "reason": reason,
                "state": state,
            }
        )
        if sign_in_url is not UNSET:
            field_dict["signInUrl"] = sign_in_url
        if page is not UNSET:
            field_dict["page"] = page

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.account_state import AccountState

        d = dict(src_dict)
        account = d.pop("account")

        reason = d.pop("reason")

        state = AccountState.from_dict(d.pop("state"))

        sign_in_url = d.pop("signInUrl", UNSET)

        page = d.pop("page", UNSET)

        account_response = cls(
            account=account,
            reason=reason,
            state=state,
            sign_in_url=sign_in_url,
            page=page,
        )

        account_response.additional_properties = d
        return account_response

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
