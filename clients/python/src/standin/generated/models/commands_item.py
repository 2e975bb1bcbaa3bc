from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import UUID

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.command_kind import CommandKind
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.commands_item_args import CommandsItemArgs


T = TypeVar("T", bound="CommandsItem")


@_attrs_define
class CommandsItem:
    """
    Attributes:
        id (UUID): The ID to acknowledge.
        kind (CommandKind): The kind of a command.
        args (CommandsItemArgs | Unset): The arguments of the command.
    """

    id: UUID
    kind: CommandKind
    args: CommandsItemArgs | Unset = UNSET
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        id = str(self.id)

        kind = self.kind.value

        args: dict[str, Any] | Unset = UNSET
        if not isinstance(self.args, Unset):
            args = self.args.to_dict()

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "id": id,
                "kind": kind,
            }
        )
        if args is not UNSET:
            field_dict["args"] = args

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.commands_item_args import CommandsItemArgs

        d = dict(src_dict)
        id = UUID(d.pop("id"))

        kind = CommandKind(d.pop("kind"))

        _args = d.pop("args", UNSET)
        args: CommandsItemArgs | Unset
        if isinstance(_args, Unset):
            args = UNSET
        else:
            args = CommandsItemArgs.from_dict(_args)

        commands_item = cls(
            id=id,
            kind=kind,
            args=args,
        )

        commands_item.additional_properties = d
        return commands_item

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
