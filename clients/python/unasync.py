"""Makes the synchronous client and its tests from the asynchronous ones.

python unasync.py FROM TO
"""

import re
import sys

RULES = [
    (r"\basync (def|for|with)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\basyncio_detailed\b", "sync_detailed"),
    (r"\basyncio\.sleep\b", "time.sleep"),
    (r"^import asyncio\n", ""),
    (r"\b(_?)Async(Iterator|HTTP|Pages|Standin|BaseTransport)\b", r"\1\2"),
    (r"\bhttpx\.AsyncClient\b", "httpx.Client"),
    (r"\bset_async_httpx_client\b", "set_httpx_client"),
    (r"\b__a(enter|exit|iter|next)__\b", r"__\1__"),
    (r"\ba(read|close|closing|iter_raw|iter_text)\b", r"\1"),
    (r"^pytestmark = .*\n\n?", ""),
    (r"The asynchronous client\. scripts/clients\.sh makes _client\.py from it\.", "The synchronous client."),
]


def main(source: str, target: str) -> None:
    with open(source, encoding="utf-8") as file:
        text = file.read()
    for pattern, replacement in RULES:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    name = source.rsplit("/", 1)[-1]
    with open(target, "w", encoding="utf-8") as file:
        file.write(f"# scripts/clients.sh makes this file from {name}.\n{text}")


main(*sys.argv[1:])
