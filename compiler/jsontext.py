"""Data as JSON that every reader takes."""

from __future__ import annotations

import json
import re
from typing import Any

_ALONE = re.compile("[\ud800-\udfff]")


def json_text(data: Any, ascii: bool = False) -> str:
    r"""The data as indented JSON with a final newline; with `ascii`, other letters are escaped.

    Half a surrogate pair, which is how Python holds a byte of a file name that is no UTF-8, is no
    text: it is written in the letters that people are shown, `\udcff`.
    """
    text = json.dumps(data, indent=2, ensure_ascii=False)
    if not text.isascii():
        text = _ALONE.sub(lambda half: f"\\\\u{ord(half[0]):04x}", text)
        if ascii:
            text = json.dumps(json.loads(text), indent=2)
    return text + "\n"
