"""OpenVLHarness, the domain: it decides, and performs nothing.

Names are looked up when they are first used, so importing a part costs that part.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openvlharness_core.agent.checkpoint import Checkpoint
    from openvlharness_core.agent.comparing import Difference
    from openvlharness_core.agent.policy import TurnPolicy
    from openvlharness_core.agent.replay import replay
    from openvlharness_core.agent.report import ModelName, Report
    from openvlharness_core.agent.runner import MainAgent
    from openvlharness_core.agent.steps import CompactionStep, EnvironmentUpdateStep, Finished, ModelStep, ToolStep
    from openvlharness_core.agent.watch import Cancellation
    from openvlharness_core.calls import (
        CallFailure,
        CapabilityResult,
        Findings,
        NewBinding,
        NewImage,
        NewPage,
        Registered,
    )
    from openvlharness_core.cameras import CameraTrajectory
    from openvlharness_core.capabilities.base import Capability
    from openvlharness_core.capabilities.hands import Hands
    from openvlharness_core.capabilities.toolset import Toolset
    from openvlharness_core.depth import DepthMap
    from openvlharness_core.detections import Detections
    from openvlharness_core.errors import (
        BackendError,
        BackendTimeoutError,
        BackendUnavailableError,
        CapabilityUnavailableError,
        ContextLengthError,
        FetchError,
        HarnessError,
        InvalidQuestionError,
        MalformedResultError,
        ModelError,
        ModelRefusedError,
        ModelUnavailableError,
        SavedFileError,
        ScriptError,
        TokenizerUnavailableError,
        ToolExecutionError,
        ToolFailure,
        TurnOrderError,
        UnreadableImageError,
        UnsupportedQueryError,
    )
    from openvlharness_core.memory.workspace import Workspace
    from openvlharness_core.messages import (
        AssistantMessage,
        ImagePart,
        ModelReply,
        ModelRequest,
        Part,
        SystemMessage,
        TextPart,
        ToolMessage,
        ToolSpec,
        UserMessage,
        VirtualCall,
    )
    from openvlharness_core.pictures import EncodedImage, ImageHeader, ImageLimits, Picture, RemotePicture
    from openvlharness_core.ports.auxiliary import AuxiliaryModel, Written
    from openvlharness_core.ports.clock import Clock
    from openvlharness_core.ports.code import CodeExecutor, CodeGenerator
    from openvlharness_core.ports.fetcher import ImageFetcher
    from openvlharness_core.ports.imaging import EvidenceRenderer, ImageCodec, RenderedImage
    from openvlharness_core.ports.model import ChatModel
    from openvlharness_core.ports.offload import Offload
    from openvlharness_core.ports.perception import (
        CameraBackend,
        DepthBackend,
        GroundingBackend,
        OcrBackend,
        ZoomBackend,
    )
    from openvlharness_core.ports.seeking import ImageSearchBackend, PageBackend, TextSearchBackend
    from openvlharness_core.ports.store import ReportStore
    from openvlharness_core.ports.tokens import TokenCounter
    from openvlharness_core.ports.tracer import Tracer
    from openvlharness_core.profile import ModelProfile
    from openvlharness_core.prompts import PromptBundle
    from openvlharness_core.question import Exchange, ImageInput, Intake, Question
    from openvlharness_core.results import Answered, Attempt, Crop, Outcome, TextLine, Transcription
    from openvlharness_core.seeking import SearchItem, SearchResults, VisitedPage
    from openvlharness_core.usage import Spent

_HOMES = {
    "Answered": "results",
    "AssistantMessage": "messages",
    "Attempt": "results",
    "AuxiliaryModel": "ports.auxiliary",
    "BackendError": "errors",
    "BackendTimeoutError": "errors",
    "BackendUnavailableError": "errors",
    "CallFailure": "calls",
    "CameraBackend": "ports.perception",
    "CameraTrajectory": "cameras",
    "Cancellation": "agent.watch",
    "Capability": "capabilities.base",
    "CapabilityResult": "calls",
    "CapabilityUnavailableError": "errors",
    "ChatModel": "ports.model",
    "Checkpoint": "agent.checkpoint",
    "Clock": "ports.clock",
    "CodeExecutor": "ports.code",
    "CodeGenerator": "ports.code",
    "CompactionStep": "agent.steps",
    "ContextLengthError": "errors",
    "Crop": "results",
    "DepthBackend": "ports.perception",
    "DepthMap": "depth",
    "Detections": "detections",
    "Difference": "agent.comparing",
    "EncodedImage": "pictures",
    "EnvironmentUpdateStep": "agent.steps",
    "EvidenceRenderer": "ports.imaging",
    "Exchange": "question",
    "FetchError": "errors",
    "Findings": "calls",
    "Finished": "agent.steps",
    "GroundingBackend": "ports.perception",
    "Hands": "capabilities.hands",
    "HarnessError": "errors",
    "ImageCodec": "ports.imaging",
    "ImageFetcher": "ports.fetcher",
    "ImageHeader": "pictures",
    "ImageInput": "question",
    "ImageLimits": "pictures",
    "ImagePart": "messages",
    "ImageSearchBackend": "ports.seeking",
    "Intake": "question",
    "InvalidQuestionError": "errors",
    "MainAgent": "agent.runner",
    "MalformedResultError": "errors",
    "ModelError": "errors",
    "ModelName": "agent.report",
    "ModelProfile": "profile",
    "ModelRefusedError": "errors",
    "ModelReply": "messages",
    "ModelRequest": "messages",
    "ModelStep": "agent.steps",
    "ModelUnavailableError": "errors",
    "NewBinding": "calls",
    "NewImage": "calls",
    "NewPage": "calls",
    "OcrBackend": "ports.perception",
    "Offload": "ports.offload",
    "Outcome": "results",
    "PageBackend": "ports.seeking",
    "Part": "messages",
    "Picture": "pictures",
    "PromptBundle": "prompts",
    "Question": "question",
    "Registered": "calls",
    "RemotePicture": "pictures",
    "RenderedImage": "ports.imaging",
    "Report": "agent.report",
    "ReportStore": "ports.store",
    "SavedFileError": "errors",
    "ScriptError": "errors",
    "SearchItem": "seeking",
    "SearchResults": "seeking",
    "Spent": "usage",
    "SystemMessage": "messages",
    "TextLine": "results",
    "TextPart": "messages",
    "TextSearchBackend": "ports.seeking",
    "TokenCounter": "ports.tokens",
    "TokenizerUnavailableError": "errors",
    "ToolExecutionError": "errors",
    "ToolFailure": "errors",
    "ToolMessage": "messages",
    "ToolSpec": "messages",
    "ToolStep": "agent.steps",
    "Toolset": "capabilities.toolset",
    "Tracer": "ports.tracer",
    "Transcription": "results",
    "TurnOrderError": "errors",
    "TurnPolicy": "agent.policy",
    "UnreadableImageError": "errors",
    "UnsupportedQueryError": "errors",
    "UserMessage": "messages",
    "VirtualCall": "messages",
    "VisitedPage": "seeking",
    "Workspace": "memory.workspace",
    "Written": "ports.auxiliary",
    "ZoomBackend": "ports.perception",
    "replay": "agent.replay",
}

__all__ = [
    "Answered",
    "AssistantMessage",
    "Attempt",
    "AuxiliaryModel",
    "BackendError",
    "BackendTimeoutError",
    "BackendUnavailableError",
    "CallFailure",
    "CameraBackend",
    "CameraTrajectory",
    "Cancellation",
    "Capability",
    "CapabilityResult",
    "CapabilityUnavailableError",
    "ChatModel",
    "Checkpoint",
    "Clock",
    "CodeExecutor",
    "CodeGenerator",
    "CompactionStep",
    "ContextLengthError",
    "Crop",
    "DepthBackend",
    "DepthMap",
    "Detections",
    "Difference",
    "EncodedImage",
    "EnvironmentUpdateStep",
    "EvidenceRenderer",
    "Exchange",
    "FetchError",
    "Findings",
    "Finished",
    "GroundingBackend",
    "Hands",
    "HarnessError",
    "ImageCodec",
    "ImageFetcher",
    "ImageHeader",
    "ImageInput",
    "ImageLimits",
    "ImagePart",
    "ImageSearchBackend",
    "Intake",
    "InvalidQuestionError",
    "MainAgent",
    "MalformedResultError",
    "ModelError",
    "ModelName",
    "ModelProfile",
    "ModelRefusedError",
    "ModelReply",
    "ModelRequest",
    "ModelStep",
    "ModelUnavailableError",
    "NewBinding",
    "NewImage",
    "NewPage",
    "OcrBackend",
    "Offload",
    "Outcome",
    "PageBackend",
    "Part",
    "Picture",
    "PromptBundle",
    "Question",
    "Registered",
    "RemotePicture",
    "RenderedImage",
    "Report",
    "ReportStore",
    "SavedFileError",
    "ScriptError",
    "SearchItem",
    "SearchResults",
    "Spent",
    "SystemMessage",
    "TextLine",
    "TextPart",
    "TextSearchBackend",
    "TokenCounter",
    "TokenizerUnavailableError",
    "ToolExecutionError",
    "ToolFailure",
    "ToolMessage",
    "ToolSpec",
    "ToolStep",
    "Toolset",
    "Tracer",
    "Transcription",
    "TurnOrderError",
    "TurnPolicy",
    "UnreadableImageError",
    "UnsupportedQueryError",
    "UserMessage",
    "VirtualCall",
    "VisitedPage",
    "Workspace",
    "Written",
    "ZoomBackend",
    "replay",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
