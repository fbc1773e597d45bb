"""A fake auxiliary model that follows a script."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import attrs

from openvlharness_core.errors import ScriptError
from openvlharness_core.pictures import EncodedImage
from openvlharness_core.ports.auxiliary import Written
from openvlharness_core.usage import Spent

ScriptedText = str | Written | Exception | Callable[[str], str]


def _listed(texts: Iterable[ScriptedText]) -> list[ScriptedText]:
    return list(texts)


@attrs.define
class ScriptedAuxiliary:
    """Writes `texts` in order: a text, a whole reply, an error to raise, or a function of the prompt.

    A text costs one token a word, of the prompt and of itself. Fails on a call that was not scripted; `assert_spent`
    fails on a text that nobody asked for.

    Attributes:
        texts: what is left of the script.
        prompts: the prompts so far.
        systems: the system texts that came with them.
        images: the pictures that came with them.
    """

    texts: list[ScriptedText] = attrs.field(converter=_listed)
    prompts: list[str] = attrs.field(factory=list, init=False)
    systems: list[str | None] = attrs.field(factory=list, init=False)
    images: list[tuple[EncodedImage, ...]] = attrs.field(factory=list, init=False)

    async def write(self, prompt: str, *, system: str | None = None, images: Sequence[EncodedImage] = ()) -> Written:
        """The next scripted text."""
        self.prompts.append(prompt)
        self.systems.append(system)
        self.images.append(tuple(images))
        if not self.texts:
            raise ScriptError(f"call {len(self.prompts)} was not scripted")
        text = self.texts.pop(0)
        if isinstance(text, Exception):
            raise text
        if isinstance(text, Written):
            return text
        if callable(text):
            text = text(prompt)
        usage = {"prompt_tokens": len(f"{system or ''} {prompt}".split()), "completion_tokens": len(text.split())}
        return Written(text=text, spent=Spent(role="auxiliary", model="scripted", usage=usage))

    def assert_spent(self) -> None:
        """Fail if texts are left."""
        assert not self.texts, f"{len(self.texts)} scripted texts were never asked for"
