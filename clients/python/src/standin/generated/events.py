"""The types of webhook data by event. params.py makes this file from the API description."""

from __future__ import annotations

from typing import Any, Union

from . import models

DATA: dict[str, Any] = {
    'job.status_changed': models.JobStatusChangedData,
    'job.finalized': models.JobFinalizedData,
    'job.transcript_ready': models.JobTranscriptReadyData,
    'job.video_ready': models.JobVideoReadyData,
    'job.failed': models.JobFailedData,
    'bot.recording_permission_response': models.RecordingPermissionResponseData,
    'bot.competing_bot_detected': models.CompetingBotDetectedData,
    'bot.command_outcome': models.CommandOutcomeData,
    'bot.stream_changed': models.StreamChangedData,
    'bot.output': models.BotOutputData,
    'participant.joined': models.ParticipantChangedData,
    'participant.left': models.ParticipantChangedData,
    'participant.speaking': models.ParticipantSpeakingData,
    'chat.message': models.ChatMessageWrittenData,
    'transcript.data': models.TranscriptDataData,
    'calendar.event_scheduled': models.CalendarEventChangedData,
    'calendar.event_updated': models.CalendarEventChangedData,
    'calendar.event_cancelled': models.CalendarEventChangedData,
    'calendar.state_changed': models.CalendarStateChangedData,
}

WebhookData = Union[
    models.JobStatusChangedData,
    models.JobFinalizedData,
    models.JobTranscriptReadyData,
    models.JobVideoReadyData,
    models.JobFailedData,
    models.RecordingPermissionResponseData,
    models.CompetingBotDetectedData,
    models.CommandOutcomeData,
    models.StreamChangedData,
    models.BotOutputData,
    models.ParticipantChangedData,
    models.ParticipantSpeakingData,
    models.ChatMessageWrittenData,
    models.TranscriptDataData,
    models.CalendarEventChangedData,
    models.CalendarStateChangedData,
]
