"""The suite of the CodeGenerator port, bound to the single-shot generator in front of a scripted model, and to the two without one."""

from __future__ import annotations

import pytest

from contracts.ports.code_generator import PROGRAM, CodeGeneratorContract, ProgramContract
from openvlharness_adapters.models.code_generator import SingleShotGenerator
from openvlharness_adapters.models.embedded_code import TemplateCodeGenerator
from openvlharness_core.errors import ModelUnavailableError
from openvlharness_core.messages import ModelReply, ModelRequest, SystemMessage, TextPart, UserMessage
from openvlharness_core.testing import FakeCodeGenerator, plain_prompts


class TinyModel:
    """Says its texts in turn, or cannot be reached once it has none left."""

    def __init__(self, *texts: str) -> None:
        self.texts = list(texts)
        self.requests: list[ModelRequest] = []

    async def complete(self, request: ModelRequest) -> ModelReply:
        self.requests.append(request)
        if not self.texts:
            raise ModelUnavailableError("connection", "refused")
        return ModelReply(text=self.texts.pop(0), finish_reason="stop", usage={"completion_tokens": 7})


class Stage:
    def __init__(self) -> None:
        self.model = TinyModel()

    def that_hears(self, *texts: str) -> SingleShotGenerator:
        self.model = TinyModel(*texts)
        return SingleShotGenerator(model=self.model, prompts=plain_prompts(), model_name="tiny")

    def that_writes(self, times: int) -> tuple[SingleShotGenerator, str]:
        return self.that_hears(*[PROGRAM] * times), "Mean depth?"

    def that_hears_nothing(self) -> SingleShotGenerator:
        return self.that_hears()

    def shown(self) -> str:
        texts: list[str] = []
        for message in self.model.requests[-1].messages:
            match message:
                case SystemMessage(text=text):
                    texts.append(text)
                case UserMessage(parts=parts):
                    texts += [part.text for part in parts if isinstance(part, TextPart)]
        return "\n".join(texts)


class TestSingleShotGenerator(CodeGeneratorContract):
    @pytest.fixture
    def stage(self) -> Stage:
        return Stage()


class TemplateStage:
    def that_writes(self, times: int) -> tuple[TemplateCodeGenerator, str]:
        return TemplateCodeGenerator(), "Add up the numbers 3.5, 4, 7 and print the sum."


class TestTemplateCodeGenerator(ProgramContract):
    @pytest.fixture
    def stage(self) -> TemplateStage:
        return TemplateStage()


class FakeStage:
    def that_writes(self, times: int) -> tuple[FakeCodeGenerator, str]:
        return FakeCodeGenerator(PROGRAM), "anything"


class TestFakeCodeGenerator(ProgramContract):
    @pytest.fixture
    def stage(self) -> FakeStage:
        return FakeStage()
