from ..._enum import OpenEnum


class AccountOwner(OpenEnum):
    OPERATOR = "operator"
    TEAM = "team"
