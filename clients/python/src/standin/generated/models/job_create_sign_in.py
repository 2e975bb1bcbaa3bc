from ..._enum import OpenEnum


class JobCreateSignIn(OpenEnum):
    ALWAYS = "always"
    IFREQUIRED = "ifRequired"
    NEVER = "never"
