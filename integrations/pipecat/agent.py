from pipecat.frames.frames import InputAudioRawFrame, TTSAudioRawFrame, TTSStoppedFrame
from pipecat.pipeline.pipeline import Pipeline
from pipecat.pipeline.worker import PipelineWorker
from pipecat.processors.frame_processor import FrameProcessor
from pipecat.workers.runner import WorkerRunner
from pipecat_standin import serve

class Echo(FrameProcessor):  # replace it with your recognizer, model and voice
    heard, quiet = b"", 0.0
    async def process_frame(self, frame, direction):
        await super().process_frame(frame, direction)
        if not isinstance(frame, InputAudioRawFrame):
            return await self.push_frame(frame, direction)
        self.quiet += len(frame.audio) / 2 / frame.sample_rate
        if max(memoryview(frame.audio).cast("h")) > 1000:
            if not self.heard:
                await self.broadcast_interruption()
            self.heard, self.quiet = self.heard + frame.audio, 0.0
        elif self.heard and self.quiet > 0.7:
            said, self.heard = self.heard, b""
            await self.push_frame(TTSAudioRawFrame(said, frame.sample_rate, 1))
            await self.push_frame(TTSStoppedFrame())

async def bot(transport):
    pipeline = Pipeline([transport.input(), Echo(), transport.output()])
    runner = WorkerRunner(handle_sigint=False)
    await runner.add_workers(PipelineWorker(pipeline, enable_rtvi=False, idle_timeout_secs=None))
    await runner.run()

serve(bot)
