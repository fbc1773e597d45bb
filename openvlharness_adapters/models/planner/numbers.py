"""Reading numbers as people write them: `1,234.50`, `1.234,50`, `$3.20`, `3,20EUR`, `(4.10)` for minus, `19%` as 19.

Generated programs carry the source of this module, so it imports nothing but the standard library, and what the planner
takes for a number is what a program takes for one. A comma or point before exactly three digits groups thousands,
unless other numbers of the same text show that it marks decimals; where nothing shows, the token is unclear.
"""

import re
from decimal import Decimal

CURRENCY = r"[$€£¥₹]|EUR|USD|GBP|CHF|JPY|CAD|AUD|SEK|NOK|DKK|INR"
_BODY = re.compile(r"\d{1,3}(?:[.,'’]\d{3})+(?:[.,]\d{1,2})?|\d+(?:[.,]\d+)?|[.,]\d+")
_DECIMALS = re.compile(r"(?<![\d.,])\d+(?:[.,]\d{3})*([.,])\d{1,2}(?![\d.,]*\d)")
_WIDE = re.compile(r"\s{2,}|\t")  # parts columns: no number reaches across
_LISTED = re.compile(r"\d+[.):]")


def decimal_mark(text: str) -> str | None:
    """The sign that marks decimals in `text`: point or comma if all its numbers agree, else None."""
    marks = set(_DECIMALS.findall(text))
    return marks.pop() if len(marks) == 1 else None


def find_number(token: str, mark: str | None = None) -> Decimal | None:
    """The number that the whole token says, or None; `mark` is the decimal mark of the text around it."""
    token = token.rstrip(":;,.!?*")
    bracketed = re.fullmatch(r"\((.+)\)", token)
    negative = bracketed is not None
    token = bracketed[1] if bracketed else token
    for _ in range(2):  # the sign may stand before the currency or behind it
        if token[:1] in ("-", "−", "–", "+"):
            negative = negative or token[0] != "+"
            token = token[1:]
        token = re.sub(f"^(?:{CURRENCY})|(?:{CURRENCY})$", "", token)
    if token[-1:] in ("-", "−"):
        negative, token = True, token[:-1]
    token = token.removesuffix("%")
    plain = _plain(token, mark) if _BODY.fullmatch(token) else None
    if plain is None:
        return None
    return -Decimal(plain) if negative else Decimal(plain)


def _plain(body: str, mark: str | None) -> str | None:
    """Digits with a point for decimals, or None where the body can be read in two ways."""
    body = re.sub("['’]", "", body)
    signs = re.findall("[.,]", body)
    if not signs:
        return body
    if len(set(signs)) == 2:  # the last one marks decimals, the other groups
        return body.replace(signs[0], "").replace(signs[-1], ".")
    if len(signs) > 1:
        return body.replace(signs[0], "")
    whole, part = re.split("[.,]", body)
    if len(part) != 3 or len(whole) > 3 or whole in ("", "0"):
        return f"{whole or 0}.{part}"
    if mark is None:
        return None
    return f"{whole}.{part}" if signs[0] == mark else whole + part


def numbers_of(text: str, mark: str | None = None) -> tuple[list[Decimal], list[str]]:
    """Every number of a text, in order, and the tokens with digits that are not plainly numbers."""
    mark = mark or decimal_mark(text)
    numbers: list[Decimal] = []
    unclear: list[str] = []
    for line in text.split("\n"):
        tokens = [(token, at == 0) for piece in _WIDE.split(line) for at, token in enumerate(piece.split())]
        before = ""
        for at, (token, is_apart) in enumerate(tokens):
            number = find_number(token, mark)
            follows = not is_apart and re.fullmatch(r"\d{1,3}", before) and re.fullmatch(r"\d{3}(?:[.,]\d+)?", token)
            if follows or (at == 0 and len(tokens) > 1 and _LISTED.fullmatch(token)):  # 1 234 or a list's own number
                unclear.append(f"{before} {token}" if follows else token)
            elif number is not None:
                numbers.append(number)
            elif any(sign.isdigit() for sign in token):
                unclear.append(token)
            before = token
    return numbers, unclear


def shown(number: Decimal) -> str:
    """A number as people write it: no exponent, at most four decimals, no minus before zero."""
    exponent = number.as_tuple().exponent
    if isinstance(exponent, int) and exponent < -4:
        number = round(number, 4).normalize()
    return format(number or abs(number), "f")
