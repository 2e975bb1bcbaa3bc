from ..._enum import OpenEnum


class KeyScope(OpenEnum):
    ADMIN = "admin"
    JOBS = "jobs"
    READ = "read"
