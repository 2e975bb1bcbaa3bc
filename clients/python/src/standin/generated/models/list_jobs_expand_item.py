from ..._enum import OpenEnum


class ListJobsExpandItem(OpenEnum):
    DETAILS = "details"
