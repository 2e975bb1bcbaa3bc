from ..._enum import OpenIntEnum


class DeliveryDetailsVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
