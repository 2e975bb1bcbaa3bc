from ..._enum import OpenEnum


class JobOptionsSignIn(OpenEnum):
    ALWAYS = "always"
    IFREQUIRED = "ifRequired"
    NEVER = "never"
