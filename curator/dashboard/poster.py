"""The fixed texts of a poster, in the languages of the answer page."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PosterTexts:
    """The words of a poster besides the asker's own."""

    language: str
    how: str
    questions: str
    disclosed: str
    until: str


TEXTS = (
    PosterTexts(
        "en",
        "Scan the code with your phone. Your answers stay on it; in what it sends they are changed "
        "at random.",
        "Questions: {count}.",
        "What can be read, as far as it tells groups of people apart: {columns}.",
        "Until {moment}.",
    ),
    PosterTexts(
        "de",
        "Scannen Sie den Code mit Ihrem Telefon. Ihre Antworten bleiben darauf; in dem, was es "
        "sendet, sind sie zufällig verändert.",
        "Fragen: {count}.",
        "Lesbar ist, soweit es Gruppen von Menschen unterscheidet: {columns}.",
        "Bis {moment}.",
    ),
    PosterTexts(
        "es",
        "Escanee el código con su teléfono. Sus respuestas se quedan en él; en lo que envía están "
        "cambiadas al azar.",
        "Preguntas: {count}.",
        "Se puede leer, en la medida en que distingue grupos de personas: {columns}.",
        "Hasta {moment}.",
    ),
    PosterTexts(
        "zh",
        "请用手机扫描二维码。您的回答留在手机上；手机发出的内容经过随机改动。",
        "问题数：{count}。",
        "可以按人群分组读出的内容：{columns}。",
        "截止时间：{moment}。",
    ),
)


def texts_for(language: str | None) -> PosterTexts:
    """The texts in a language, as a BCP 47 tag; in English where there are none."""
    primary = (language or "en").lower().split("-")[0]
    return next((texts for texts in TEXTS if texts.language == primary), TEXTS[0])
