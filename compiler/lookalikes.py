"""Letters of other alphabets that look like Latin ones.

The pairs are those whose usual glyphs cannot be told apart in a name: of the Cyrillic and Greek
alphabets (Unicode, Technical Standard 39, confusables), and what forms of compatibility come to,
such as full-width letters.
"""

from __future__ import annotations

import unicodedata

_CYRILLIC = dict(zip("аеорсухіјѕԁһԛԝАВЕКМНОРСТХІЈЅ", "aeopcyxijsdhqwABEKMHOPCTXIJS", strict=True))
_GREEK = dict(zip("οναιρΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ovaipABEZHIKMNOPTYX", strict=True))
_DASHES = dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2212", "-")
_LATIN = str.maketrans({**_CYRILLIC, **_GREEK, **_DASHES})


def latin(text: str) -> str:
    """The text with the letters that each of its look-alikes is taken for."""
    return unicodedata.normalize("NFKC", text).translate(_LATIN)


def strange(text: str) -> str:
    """The first character that is not ASCII, and which it is; '' where there is none."""
    for character in text:
        if not character.isascii():
            name = unicodedata.name(character, "a character without a name")
            return f"`{character}` in it is U+{ord(character):04X}, {name}"
    return ""
