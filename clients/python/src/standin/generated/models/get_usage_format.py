from ..._enum import OpenEnum


class GetUsageFormat(OpenEnum):
    CSV = "csv"
    JSON = "json"
