"""The messages of a Standin stream as Pipecat frames."""

import json
import struct

from loguru import logger
from pipecat.audio.resamplers.base_audio_resampler import BaseAudioResampler
from pipecat.audio.utils import create_stream_resampler
from pipecat.frames.frames import (
    EndWorkerFrame,
    Frame,
    InputAudioRawFrame,
    InputTransportMessageFrame,
    InterruptionFrame,
    OutputAudioRawFrame,
    OutputTransportMessageFrame,
    OutputTransportMessageUrgentFrame,
    UserAudioRawFrame,
)
from pipecat.processors.frame_processor import FrameProcessorSetup
from pipecat.serializers.base_serializer import FrameSerializer

HEADER = struct.Struct("<II")  # source, milliseconds since the start of the recording
MIXED = 0  # the source of the mixed sound


class StandinFrameSerializer(FrameSerializer):
    """Converts the messages of a Standin stream to frames, and frames to messages.

    The mixed sound becomes an InputAudioRawFrame; the sound of a participant a UserAudioRawFrame, whose user_id is
    the ID of the participant, or empty while it is unknown. Both have the sample rate of the pipeline, and in pts the
    time since the start of the recording in nanoseconds. Text messages become an InputTransportMessageFrame, and
    `end` an EndWorkerFrame, with which Pipecat ends the pipeline.
    """

    def __init__(self, sample_rate: int = 16000, params: FrameSerializer.InputParams | None = None) -> None:
        """sample_rate is that of the stream. A `start` message replaces it."""
        super().__init__(params)
        self._stream_rate = sample_rate
        self._pipeline_rate = sample_rate
        self._speakers: dict[int, str] = {}
        self._input_resamplers: dict[int, BaseAudioResampler] = {}
        self._output_resampler = self._create_resampler()

    async def setup(self, setup: FrameProcessorSetup) -> None:
        self._pipeline_rate = setup.audio_in_sample_rate

    async def deserialize(self, data: str | bytes) -> Frame | None:
        if isinstance(data, bytes):
            return await self._deserialize_audio(data)
        try:
            message = json.loads(data)
            kind = message["type"]
        except (ValueError, KeyError, TypeError):
            logger.warning(f"{self}: ignored a text message that is not of Standin")
            return None
        if kind == "end":
            return EndWorkerFrame(reason="the Standin stream ended")
        if kind == "start":
            self._stream_rate = message["sampleRate"]
        elif kind == "speaker":
            self._speakers[message["source"]] = message["participantId"] or ""
        return InputTransportMessageFrame(message=message)

    async def _deserialize_audio(self, data: bytes) -> Frame | None:
        if len(data) < HEADER.size or len(data) % 2:
            logger.warning(f"{self}: ignored a binary message of {len(data)} bytes")
            return None
        source, milliseconds = HEADER.unpack_from(data)
        audio = data[HEADER.size :]
        if self._stream_rate != self._pipeline_rate:
            resampler = self._input_resamplers.setdefault(source, self._create_resampler())
            audio = await resampler.resample(audio, self._stream_rate, self._pipeline_rate)
        if not audio:
            return None
        frame: InputAudioRawFrame
        if source == MIXED:
            frame = InputAudioRawFrame(audio, self._pipeline_rate, 1)
        else:
            frame = UserAudioRawFrame(audio, self._pipeline_rate, 1, user_id=self._speakers.get(source, ""))
        frame.transport_source = str(source)
        frame.pts = milliseconds * 1_000_000
        return frame

    async def serialize(self, frame: Frame) -> str | bytes | None:
        if isinstance(frame, OutputAudioRawFrame):
            rates = frame.sample_rate, self._stream_rate
            return await self._output_resampler.resample(frame.audio, *rates) or None
        if isinstance(frame, InterruptionFrame):
            await self._output_resampler.reset()
            return json.dumps({"type": "clear"})
        if isinstance(frame, OutputTransportMessageFrame | OutputTransportMessageUrgentFrame):
            return None if self.should_ignore_frame(frame) else json.dumps(frame.message)
        return None

    def _create_resampler(self) -> BaseAudioResampler:
        return create_stream_resampler(clear_after_secs=self._params.resampler_clear_after_secs)
