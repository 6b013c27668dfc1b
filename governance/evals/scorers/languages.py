"""The language of a text where script or function words tell it surely; empty where they do not.

- A script that one language has names it (Greek, Hangul, kana, Thai, Hebrew …); Han without kana is Chinese.
- Latin and Cyrillic texts are told by their most frequent function words: at least three of them, and twice
  as many as of any other language. Short and mixed texts stay untold: a wrong word would be an accusation.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from typing import Final

from governance.evals.scorers.words import words

_SCRIPTS: Final = {
    "GREEK": "el", "HANGUL": "ko", "HIRAGANA": "ja", "KATAKANA": "ja", "CJK": "zh", "THAI": "th",
    "HEBREW": "he", "ARABIC": "ar", "DEVANAGARI": "hi", "GEORGIAN": "ka", "ARMENIAN": "hy",
}  # fmt: skip
_WORDS: Final = {
    "en": "the and of to is in that it was for with are this from have has had by were not which their will",
    "de": "der die das und ist nicht ein eine den dem mit auf für von sich auch wird wurde sind zu im bei",
    "fr": "le la les des et est une un du dans que qui pour pas sur par au avec sont ont ce cette plus",
    "es": "el la los las de y que en es un una por con para del se no su al como más fue han",
    "it": "il la di che e è un una per non sono del della con le gli nel alla si ha anche più dei",
    "pt": "o a os as de e que do da em um uma para com não por no na se dos foi mais são ao",
    "nl": "de het een en van is niet dat in op te zijn voor met die aan door wordt werd ook naar bij",
    "sv": "och att det som en är av för på med den till inte har ett om var från kan",
    "da": "og at det som en er af for på med den til ikke har et om var fra kan så der",
    "pl": "i w na z się nie to jest że do o jak przez po za od dla był są jego które",
    "cs": "a se na je že v z to s do o pro jako ale by jsou byl které také",
    "tr": "ve bir bu için ile da de olarak daha çok olan gibi en sonra kadar ise",
    "fi": "ja on ei se että oli mutta myös kun hän ovat tai niin joka sen",
    "ru": "и в не на что с он как это по из но для был от к же бы или",
    "uk": "і в не на що з він як це по та але для був від до або й",
}  # fmt: skip
_PROFILES: Final = {language: frozenset(text.split()) for language, text in _WORDS.items()}
_LEAST: Final = 3
_MAX: Final = 4000


def language_of(text: str) -> str:
    """The two letters of the language `text` is written in; empty when that cannot be told."""
    text = text[:_MAX]
    scripts = Counter(_script(char) for char in text if char.isalpha())
    total = sum(scripts.values())
    if not total:
        return ""
    if scripts["HIRAGANA"] + scripts["KATAKANA"] > 0.1 * total:
        return "ja"
    script, count = scripts.most_common(1)[0]
    if count < 0.7 * total:
        return ""
    if script in _SCRIPTS:
        return _SCRIPTS[script]
    return _by_words(text) if script in {"LATIN", "CYRILLIC"} else ""


def _script(char: str) -> str:
    return unicodedata.name(char, "").partition(" ")[0]


def _by_words(text: str) -> str:
    said = [word.lower() for word in words(text)]
    hits = Counter({language: sum(w in known for w in said) for language, known in _PROFILES.items()})
    (first, most), (_, second) = hits.most_common(2)
    return first if most >= _LEAST and most >= 2 * second else ""
