from ..._enum import OpenEnum


class JobSettingsSignIn(OpenEnum):
    ALWAYS = "always"
    IFREQUIRED = "ifRequired"
    NEVER = "never"
