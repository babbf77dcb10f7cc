"""The fixed texts of a poster, in the languages of the answer page."""

from dataclasses import dataclass


@dataclass(frozen=True)
class PosterTexts:
    """The words of a poster besides the asker's own."""

    language: str
    how: str
    disclosed: str
    until: str


TEXTS = (
    PosterTexts(
        "en",
        "Scan the code or type the address. Your answers stay on your device; in what it sends "
        "they are changed at random.",
        "What can be read, as far as it tells groups of people apart: {columns}.",
        "Until {moment}.",
    ),
    PosterTexts(
        "de",
        "Scannen Sie den Code oder geben Sie die Adresse ein. Ihre Antworten bleiben auf Ihrem "
        "Gerät; in dem, was es sendet, sind sie zufällig verändert.",
        "Lesbar ist, soweit es Gruppen von Menschen unterscheidet: {columns}.",
        "Bis {moment}.",
    ),
    PosterTexts(
        "es",
        "Escanee el código o escriba la dirección. Sus respuestas se quedan en su dispositivo; en "
        "lo que este envía están cambiadas al azar.",
        "Se puede leer, en la medida en que distingue grupos de personas: {columns}.",
        "Hasta {moment}.",
    ),
    PosterTexts(
        "zh",
        "扫描二维码或输入网址。您的回答留在您的设备上；设备发出的内容经过随机改动。",
        "可以按人群分组读出的内容：{columns}。",
        "截止时间：{moment}。",
    ),
)


def texts_for(language: str | None) -> PosterTexts:
    """The texts in a language, as a BCP 47 tag; in English where there are none."""
    primary = (language or "en").lower().split("-")[0]
    return next((texts for texts in TEXTS if texts.language == primary), TEXTS[0])
