"""Runs agent.py with a model that follows a script, against the service in STANDIN_URL, with a test key."""

import asyncio
import json
import unittest

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import agent

MEETING = "https://meet.google.com/abc-defg-hij"


class Scripted(BaseChatModel):
    """Calls one tool after the other, with the ID of the job from the first result, and answers with the last result."""

    tools: list = []

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools, **_):
        return Scripted(tools=[tool.name for tool in tools])

    def _generate(self, messages, stop=None, run_manager=None, **_):
        results = [text(message) for message in messages if isinstance(message, ToolMessage)]
        job = json.loads(results[0])["job"]["jobId"] if results else None
        steps = [
            ("send_bot", {"meetingUrl": MEETING, "simulate": {"seconds": 30, "speed": 30}}),
            ("wait_for", {"jobId": job, "until": "ended"}),
            ("get_transcript", {"jobId": job}),
        ]
        if len(results) == len(steps):
            answer = AIMessage(results[-1])
        else:
            name, arguments = steps[len(results)]
            assert name in self.tools, self.tools
            answer = AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": str(len(results))}])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def text(message: ToolMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "".join(block.get("text", "") for block in message.content)


class AgentTest(unittest.TestCase):
    def test_transcript(self):
        answer = asyncio.run(agent.ask(Scripted(), f"Send a bot to {MEETING} and tell me what was said."))
        self.assertIn("Ada Quill: Good morning", answer)


if __name__ == "__main__":
    unittest.main()
