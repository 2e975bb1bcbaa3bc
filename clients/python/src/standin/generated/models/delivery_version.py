from ..._enum import OpenIntEnum


class DeliveryVersion(OpenIntEnum):
    VALUE_1 = 1
    VALUE_2 = 2
