from enum import Enum


class JobPatchSignIn(str, Enum):
    ALWAYS = "always"
    IFREQUIRED = "ifRequired"
    NEVER = "never"

    def __str__(self) -> str:
        return str(self.value)
