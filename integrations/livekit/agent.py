from livekit.agents import Agent, AgentSession, inference, stt
from livekit.plugins import standin

class Recorder(stt.STT):  # replace it with your recognizer
    def __init__(self):
        super().__init__(capabilities=stt.STTCapabilities(streaming=False, interim_results=False))

    async def _recognize_impl(self, buffer, *, language, conn_options):
        self.heard = buffer if isinstance(buffer, list) else [buffer]
        alternatives = [stt.SpeechData(language="en", text="something")]
        return stt.SpeechEvent(stt.SpeechEventType.FINAL_TRANSCRIPT, alternatives=alternatives)

class Echo(Agent):  # replace it with an agent that has a model and a voice
    def __init__(self):
        super().__init__(instructions="", stt=Recorder(), vad=inference.VAD())

    async def on_user_turn_completed(self, turn_ctx, new_message):
        async def frames():
            for frame in self.stt.heard:
                yield frame
        self.session.say("something", audio=frames())

async def entrypoint(stream):
    session = AgentSession()
    session.input.audio, session.output.audio = stream.input, stream.output
    await session.start(Echo(), record=False)
    await stream.wait_ended()
    await session.aclose()

standin.serve(entrypoint)
