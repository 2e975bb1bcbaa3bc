from ..._enum import OpenEnum


class JobPatchSignIn(OpenEnum):
    ALWAYS = "always"
    IFREQUIRED = "ifRequired"
    NEVER = "never"
